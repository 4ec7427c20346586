// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"

#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/error.h"

#include <charconv>
#include <set>

namespace headlight::figure {

ViewOption flag(const char* name, const char* title, const char* help) {
    return {.name = name, .kind = OptionKind::flag, .title = title, .help = help, .initial = ""};
}

ViewOption sums_option() {
    return {.name = "sums",
            .kind = OptionKind::flag,
            .title = "Sums of rows and columns",
            .help = "bars with the sums of rows and columns beside the map",
            .initial = ""};
}

ViewOption aggregate_option() {
    return {.name = "aggregate",
            .kind = OptionKind::choice,
            .title = "Heads together",
            .help =
                "head, matrix: several heads as one; model: a column more with a layer's heads as one, a row more "
                "with the layers as one",
            .initial = "none",
            .choices = {{"none", "Each head"}, {"mean", "Mean of the heads"}, {"max", "Maximum of the heads"}}};
}

ViewOption layers_option() {
    return {.name = "layers",
            .kind = OptionKind::text,
            .title = "Layers",
            .help = "heads put together are of these layers: 0,2-4 or all (default: --layer; model: all)",
            .initial = ""};
}

std::optional<analyze::Aggregate> aggregate_of(const ViewState& state) {
    const std::string word = text_value(state, "aggregate");
    if (word == "none") return std::nullopt;
    return word == "max" ? analyze::Aggregate::max : analyze::Aggregate::mean;
}

std::vector<std::int64_t> index_list(const std::string& text, std::int64_t count, const std::string& option) {
    std::set<std::int64_t> found;
    const auto wrong = [&] {
        return Error(ErrorFacts{.problem = "not a list of numbers",
                                .item = option,
                                .expected = "all, or numbers and ranges from 0 to " + std::to_string(count - 1) + " like 0,2-4",
                                .found = text});
    };
    const char *at = text.data(), *end = at + text.size();
    const auto number = [&] {
        std::int64_t value = -1;
        const auto [next, problem] = std::from_chars(at, end, value);
        if (problem != std::errc() || value < 0 || value >= count) throw wrong();
        at = next;
        return value;
    };
    if (text == "all")
        for (std::int64_t i = 0; i < count; ++i) found.insert(i);
    while (text != "all") {
        const std::int64_t first = number();
        std::int64_t last = first;
        if (at < end && *at == '-') {
            ++at;
            last = number();
        }
        if (last < first) throw wrong();
        for (std::int64_t i = first; i <= last; ++i) found.insert(i);
        if (at == end) break;
        if (*at++ != ',') throw wrong();
    }
    return {found.begin(), found.end()};
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
    return analyze::choose_token(*trace.tokenizer(), trace.config().vocab_size, typed, std::string("--") + option).id;
}

}  // namespace headlight::figure
