// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/state.h"

namespace headlight::ui {

/// A view's own option as it stands: the chosen value, or the default.
std::string view_value(const ViewOptions&, const View&, const figure::ViewOption&);
/// Values that are the default are left out.
void set_view_value(ViewOptions&, const View&, const std::string& option, const std::string& value);

}  // namespace headlight::ui
