// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/base/error.h"
#include "headlight/base/index_list.h"

#include <numeric>

namespace headlight::figure {

ViewOption flag(const char* name, const char* title, const char* help) { return {.name = name, .title = title, .help = help}; }
ViewOption text_option(const char* name, const char* title, const char* help, const char* example) {
    return {.name = name, .kind = OptionKind::text, .title = title, .help = help, .example = example};
}
ViewOption token_option(const char* name, const char* title, const char* help) {
    return {.name = name, .kind = OptionKind::text, .title = title, .help = help, .token = true};
}
ViewOption target_option(const char* name, const char* title, const char* help) {
    ViewOption option = token_option(name, title, help);
    option.next = true;
    return option;
}
ViewOption integer_option(const char* name, const char* title, const char* help, const char* initial, double low, double high) {
    return {
        .name = name, .kind = OptionKind::integer, .title = title, .help = help, .initial = initial, .low = low, .high = high};
}
ViewOption number_option(const char* name, const char* title, const char* help, const char* initial, double low, double high) {
    return {.name = name, .kind = OptionKind::number, .title = title, .help = help, .initial = initial, .low = low, .high = high};
}

ViewOption sums_option() {
    return flag("sums", "Sums of rows and columns", "bars with the sums of rows and columns beside the map");
}

ViewOption aggregate_option() {
    ViewOption option{.name = "aggregate",
                      .kind = OptionKind::choice,
                      .title = "Combine heads",
                      .help =
                          "head, matrix: several heads as one; model: one more column with a layer's heads combined, one more "
                          "row with the layers combined",
                      .initial = "none",
                      .choices = {{"none", "Each head"}},
                      .plain_default = true};
    for (const auto& row : analyze::aggregates) option.choices.emplace_back(row.word, std::string(row.title) + " of the heads");
    return option;
}

ViewOption layers_option() {
    return text_option("layers", "Layers", "layers of the heads that are combined: 0,2-4 or all (default: --layer; model: all)",
                       "0,2-4 or all");
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
    const std::string typed = text_value(state, option);
    if (typed.empty()) return std::nullopt;
    return analyze::choose_output(trace.config(), *trace.tokenizer(), typed, std::string("--") + option).id;
}

}  // namespace headlight::figure
