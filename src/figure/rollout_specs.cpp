// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/view_tables.h"
#include "headlight/base/error.h"
#include "headlight/figure/rollout_views.h"

#include <charconv>

namespace headlight::figure {
namespace {

using Kind = ViewOption::Kind;

ViewOption flag(const char* name, const char* title, const char* help) {
    return {.name = name, .kind = Kind::flag, .title = title, .help = help, .initial = ""};
}

ViewOption all_layers() {
    return flag("all-layers", "Every layer up to this one", "rollout, flow: a map of each layer up to --layer");
}

ViewOption receptive_field() {
    return flag("by-receptive-field", "Divided by what even attention gives",
                "rollout, flow of causal models: divide by what even attention gives");
}

ViewOption sums() {
    return flag("sums", "Sums of rows and columns", "bars with the sums of rows and columns beside the map");
}

ViewOption least() {
    return {.name = "least",
            .kind = Kind::number,
            .title = "Thinnest ribbon",
            .help = "ribbons and nodes below this share of the whole are counted, not drawn",
            .initial = "0.01",
            .low = 0.0001,
            .high = 1};
}

RolloutViewOptions map_options(const ViewState& state, bool flow) {
    RolloutViewOptions options;
    options.flow = flow;
    options.all_layers = flag_value(state, "all-layers");
    options.by_receptive_field = flag_value(state, "by-receptive-field");
    options.sums = flag_value(state, "sums");
    if (const std::int64_t head = flow ? -1 : integer_value(state, "last-head"); head >= 0) options.head = Head(head);
    return options;
}

std::unique_ptr<Figure> paths(TracePtr trace, const ViewState& state, bool flow, const CancelToken& cancel) {
    const Position query = state.query.value_or(Position(trace->tokens() - 1));
    return paths_view(std::move(trace), state.layer, query, flow ? state.key : std::nullopt,
                      {.flow = flow, .least = number_value(state, "least")}, cancel);
}

/// "0-2,5" or "all"; empty: `layer` alone.
std::vector<Layer> layers_of(const std::string& text, Layer layer, std::int64_t count) {
    if (text.empty()) return {layer};
    std::vector<Layer> layers;
    const auto wrong = [&] {
        return Error(
            ErrorFacts{.problem = "not a list of layers",
                       .item = "--layers",
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
        for (std::int64_t l = 0; l < count; ++l) layers.emplace_back(l);
    while (text != "all") {
        const std::int64_t first = number();
        std::int64_t last = first;
        if (at < end && *at == '-') {
            ++at;
            last = number();
        }
        if (last < first) throw wrong();
        for (std::int64_t l = first; l <= last; ++l) layers.emplace_back(l);
        if (at == end) break;
        if (*at++ != ',') throw wrong();
    }
    return layers;
}

std::unique_ptr<Figure> aggregate(TracePtr trace, const ViewState& state, const CancelToken& cancel) {
    std::vector<HeadId> heads;
    for (const Layer layer : layers_of(text_value(state, "layers"), state.layer, trace->config().n_layers))
        for (const Head head : state.heads) heads.push_back({layer, head});
    const auto how = text_value(state, "together") == "max" ? analyze::Aggregate::max : analyze::Aggregate::mean;
    return aggregate_matrix_view(std::move(trace), heads, how, state.pattern, flag_value(state, "sums"), cancel);
}

}  // namespace

std::vector<ViewSpec> rollout_view_specs() {
    return {
        {.id = "aggregate",
         .title = "Heads put together",
         .group = "Attention",
         .needs = {.layer = true, .heads = true, .pattern = true},
         .all_heads = true,
         .options = {{.name = "together",
                      .kind = Kind::choice,
                      .title = "Put together by",
                      .help = "several heads as one map: their mean or their maximum",
                      .initial = "mean",
                      .choices = {{"mean", "Mean"}, {"max", "Maximum"}}},
                     {.name = "layers",
                      .kind = Kind::text,
                      .title = "Layers",
                      .help = "heads of these layers: 0,2-4 or all (default: --layer)",
                      .initial = ""},
                     sums()},
         .make = aggregate},
        {.id = "rollout",
         .title = "Rollout",
         .group = "Across layers",
         .needs = {.layer = true},
         .options = {all_layers(),
                     receptive_field(),
                     sums(),
                     {.name = "last-head",
                      .kind = Kind::integer,
                      .title = "Last step by one head",
                      .help = "rollout: the last step by this head alone; -1: the mean of all",
                      .initial = "-1",
                      .low = -1,
                      .high = 4096}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 return rollout_view(std::move(trace), s.layer, map_options(s, false), cancel);
             }},
        {.id = "rollout-paths",
         .title = "Rollout from a token",
         .group = "Across layers",
         .needs = {.layer = true, .query = true},
         .options = {least()},
         .make = [](TracePtr trace, const ViewState& s,
                    const CancelToken& cancel) { return paths(std::move(trace), s, false, cancel); }},
        {.id = "flow",
         .title = "Attention flow",
         .group = "Across layers",
         .needs = {.layer = true},
         .options = {all_layers(), receptive_field(), sums()},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 return rollout_view(std::move(trace), s.layer, map_options(s, true), cancel);
             }},
        {.id = "flow-paths",
         .title = "Attention flow from a token",
         .group = "Across layers",
         .needs = {.layer = true, .query = true, .key = true},
         .options = {least()},
         .make = [](TracePtr trace, const ViewState& s,
                    const CancelToken& cancel) { return paths(std::move(trace), s, true, cancel); }},
    };
}

}  // namespace headlight::figure
