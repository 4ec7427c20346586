// SPDX-License-Identifier: GPL-3.0-or-later
// Options that several views have, each defined once, and what they mean.
#pragma once

#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/figure/core/view_spec.h"

#include <cstdint>
#include <optional>

namespace headlight::figure {

ViewOption flag(const char* name, const char* title, const char* help);
ViewOption text_option(const char* name, const char* title, const char* help, const char* example = "");
/// Names one token of the vocabulary; token_value() reads it.
ViewOption token_option(const char* name, const char* title, const char* help);
/// The same, or "next": what a prediction is asked about (analyze::choose_target).
ViewOption target_option(const char* name, const char* title, const char* help);
ViewOption integer_option(const char* name, const char* title, const char* help, const char* initial, double low, double high);
ViewOption number_option(const char* name, const char* title, const char* help, const char* initial, double low, double high);
/// Of an enum with a table: its words and titles are the choices.
template <class E>
ViewOption choice(const char* name, const char* title, const char* help, E initial) {
    ViewOption option{
        .name = name, .kind = OptionKind::choice, .title = title, .help = help, .initial = std::string(enum_word(initial))};
    for (const EnumRow<E>& row : enum_rows(initial)) option.choices.emplace_back(row.word, row.title);
    return option;
}
template <class E>
E choice_value(const ViewState& state, std::string_view option) {
    return enum_value<E>(text_value(state, option)).value();
}

ViewOption sums_option();
/// none, mean, max
ViewOption aggregate_option();
ViewOption layers_option();

/// The token that a text option names, by id or as text; none if it is empty. Errors are those of choose_token().
std::optional<std::int64_t> token_value(const trace::Trace&, const ViewState&, const char* option);
/// Of aggregate_option(); none: each head by itself.
std::optional<analyze::Aggregate> aggregate_of(const ViewState&);
/// "0-2,5" or "all", each below `count`, sorted. Error names the option.
std::vector<std::int64_t> index_list(const std::string& text, std::int64_t count, const std::string& option);
/// The state's heads in each of the layers that layers_option() names; without it in the state's layer.
std::vector<HeadId> chosen_heads(const trace::Trace&, const ViewState&);

/// Few enough texts to read their summaries in less than a frame.
inline bool few_texts(const trace::Trace&, const ViewState& state) { return !state.batch || state.batch->traces.size() < 8; }

}  // namespace headlight::figure
