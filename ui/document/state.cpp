// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/state.h"

#include "headlight/analyze/heads/head_table.h"

#include <algorithm>

namespace headlight::ui {

QString view_title(const View& view) { return QString::fromStdString(figure::view_spec(view).title); }

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

ViewOptions without_corpus(ViewOptions options) {
    const auto of_text = [](const std::string& measure) { return measure.substr(analyze::corpus_prefix.size()); };
    options.corpus.clear();
    if (analyze::is_of_corpus(options.measure)) options.measure = of_text(options.measure);
    const auto chosen = options.values;
    for (const auto& [view, values] : chosen)
        for (const auto& [name, value] : values)
            if (const auto* option = figure::view_spec(view).option(name);
                option && option->measure && analyze::is_of_corpus(value))
                set_view_value(options, view, name, of_text(value));
    return options;
}

const NamedFilter* filter_called(const std::vector<NamedFilter>& filters, const QString& name) {
    const auto found = std::find_if(filters.begin(), filters.end(),
                                    [&](const NamedFilter& f) { return f.name.compare(name, Qt::CaseInsensitive) == 0; });
    return found == filters.end() ? nullptr : &*found;
}

std::vector<NamedFilter> with_filter(std::vector<NamedFilter> filters, const NamedFilter& filter) {
    filters = without_filter(std::move(filters), filter.name);
    const auto before = [](const NamedFilter& a, const NamedFilter& b) {
        return a.name.compare(b.name, Qt::CaseInsensitive) < 0;
    };
    filters.insert(std::upper_bound(filters.begin(), filters.end(), filter, before), filter);
    return filters;
}

std::vector<NamedFilter> without_filter(std::vector<NamedFilter> filters, const QString& name) {
    std::erase_if(filters, [&](const NamedFilter& f) { return f.name.compare(name, Qt::CaseInsensitive) == 0; });
    return filters;
}

PromptText with_piece(PromptText prompt, const QString& piece) {
    const qsizetype end = prompt.text.size();
    if (prompt.written.empty() || prompt.written.end != end) prompt.written = {end, end};
    prompt.text += piece;
    prompt.written.end = prompt.text.size();
    return prompt;
}

TextRange follow_edit(TextRange range, const QString& before, const QString& after) {
    if (range.empty()) return {};
    const qsizetype shorter = std::min(before.size(), after.size());
    qsizetype head = 0, tail = 0;
    while (head < shorter && before[head] == after[head]) ++head;
    while (tail < shorter - head && before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) ++tail;
    if (before.size() - tail <= range.begin) {
        const qsizetype moved = after.size() - before.size();
        return {range.begin + moved, range.end + moved};
    }
    range.end = std::min(range.end, head);
    return range.empty() ? TextRange() : range;
}

}  // namespace headlight::ui
