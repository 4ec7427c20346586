// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"

#include <numeric>

namespace headlight::figure {

void offer_measures(ViewOption& option, std::vector<std::pair<std::string, std::string>> first) {
    option.kind = OptionKind::choice;
    option.measure = true;
    option.choices = std::move(first);
    for (const auto& measure : analyze::head_measures()) option.choices.emplace_back(measure.id, measure.title);
}

bool combines_heads(const ViewState& state) { return view_spec(state.view).option("aggregate") && aggregate_of(state); }

std::optional<analyze::Aggregate> aggregate_of(const ViewState& state) {
    return enum_value<analyze::Aggregate>(text_value(state, "aggregate"));
}

std::vector<std::int64_t> index_list(const std::string& text, std::int64_t count, const std::string& option) {
    if (text == "all") {
        std::vector<std::int64_t> all(static_cast<std::size_t>(count));
        std::iota(all.begin(), all.end(), std::int64_t{0});
        return all;
    }
    try {
        std::vector<std::int64_t> found = headlight::index_list(text);
        if (found.back() < count) return found;
    } catch (const Error&) {  // names a part of the list alone
    }
    throw Error(ErrorFacts{.problem = "Not a list of numbers",
                           .item = option,
                           .expected = "all, or numbers and ranges from 0 to " + std::to_string(count - 1) + " like 0,2-4",
                           .found = text});
}

std::vector<HeadId> chosen_heads(const trace::Trace& trace, const ViewState& state) {
    const std::string text = text_value(state, "layers");
    std::vector<std::int64_t> layers{state.layer.value};
    if (!text.empty()) layers = index_list(text, trace.config().n_layers, "--layers");
    std::vector<HeadId> heads;
    for (const std::int64_t layer : layers)
        for (const Head head : state.heads) heads.push_back({Layer(layer), head});
    return heads;
}

std::optional<std::int64_t> token_value(const trace::Trace& trace, const ViewState& state, const char* option) {
    return token_called(trace, text_value(state, option), option);
}

std::optional<std::int64_t> token_called(const trace::Trace& trace, const std::string& typed, const char* option) {
    if (typed.empty()) return std::nullopt;
    return analyze::choose_output(trace.config(), *trace.tokenizer(), typed, std::string("--") + option).id;
}

}  // namespace headlight::figure
