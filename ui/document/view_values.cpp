// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/view_values.h"

namespace headlight::ui {

std::string view_value(const ViewOptions& options, const View& view, const figure::ViewOption& option) {
    const auto of_view = options.values.find(view);
    if (of_view == options.values.end()) return option.initial;
    const auto value = of_view->second.find(option.name);
    return value == of_view->second.end() ? option.initial : value->second;
}

void set_view_value(ViewOptions& options, const View& view, const std::string& option, const std::string& value) {
    figure::ViewValues& values = options.values[view];
    values[option] = value;
    values = figure::tidy(figure::view_spec(view), values);
    if (values.empty()) options.values.erase(view);
}

}  // namespace headlight::ui
