// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/view_tables.h"

namespace headlight::figure {
namespace {

using Kind = ViewOption::Kind;

/// Weights that are computed in less than a frame, also in a build without optimisation of the surroundings.
constexpr std::int64_t quick_weights = 2'000'000;

std::vector<HeadId> ids_of(const ViewState& state) {
    std::vector<HeadId> ids;
    for (const Head head : state.heads) ids.push_back({state.layer, head});
    return ids;
}

bool few_weights(const trace::Trace& trace, const ViewState& state) {
    return static_cast<std::int64_t>(state.heads.size()) * trace.tokens() * trace.tokens() <= quick_weights;
}

ModelViewOptions model_options(const ViewState& state) {
    using Cells = ModelViewOptions::Cells;
    const std::string cells = text_value(state, "cells");
    return {.cells = cells == "lines" ? Cells::lines : cells == "maps" ? Cells::maps : Cells::automatic,
            .mean = flag_value(state, "mean"),
            .detail = state.detail};
}

}  // namespace

std::vector<ViewSpec> pattern_view_specs() {
    return {
        {.id = "head",
         .title = "Head",
         .group = "Attention",
         .tab = true,
         .needs = {.layer = true, .heads = true, .pattern = true},
         .all_heads = true,
         .make = [](TracePtr trace, const ViewState& s, const CancelToken&) { return head_view(std::move(trace), s.layer, s.heads, s.pattern); },
         .quick = few_weights,
         .filters = true},
        {.id = "matrix",
         .title = "Matrix",
         .group = "Attention",
         .tab = true,
         .needs = {.layer = true, .heads = true, .pattern = true},
         .make = [](TracePtr trace, const ViewState& s, const CancelToken&) { return matrix_view(std::move(trace), ids_of(s), s.pattern); },
         .quick = few_weights},
        {.id = "model",
         .title = "Model",
         .group = "Attention",
         .tab = true,
         .needs = {.pattern = true},
         .options = {{.name = "cells",
                      .kind = Kind::choice,
                      .title = "Cells",
                      .help = "model view: what a cell holds",
                      .initial = "auto",
                      .choices = {{"auto", "Lines or maps by length"}, {"lines", "Lines"}, {"maps", "Maps"}}},
                     {.name = "mean",
                      .kind = Kind::flag,
                      .title = "Maps pooled by mean",
                      .help = "model view: pool by mean instead of maximum",
                      .initial = ""}},
         .make = [](TracePtr trace, const ViewState& s, const CancelToken&) { return model_view(std::move(trace), s.pattern, model_options(s)); },
         .quick =
             [](const trace::Trace& trace, const ViewState&) {
                 const auto& c = trace.config();
                 return c.n_layers * c.n_heads * trace.tokens() * trace.tokens() <= quick_weights;
             },
         .filters = true},
        {.id = "neuron",
         .title = "Neuron",
         .group = "Attention",
         .tab = true,
         .needs = {.focus = true, .query = true, .hover = true},
         .options = {{.name = "sorted",
                      .kind = Kind::flag,
                      .title = "Numbers by contribution",
                      .help = "neuron view: dimensions by contribution instead of by index",
                      .initial = ""},
                     {.name = "collapsed",
                      .kind = Kind::flag,
                      .title = "Without the vectors",
                      .help = "neuron view: without the vectors",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken&) {
                 const NeuronViewOptions options{.sorted = flag_value(s, "sorted"),
                                                 .expanded = s.query && !flag_value(s, "collapsed")};
                 const Position query = s.query.value_or(Position(trace->tokens() - 1));
                 return neuron_view(std::move(trace), s.focus(), query, options);
             },
         .quick = [](const trace::Trace& trace, const ViewState&) { return trace.tokens() * trace.config().d_head <= quick_weights; }},
    };
}

}  // namespace headlight::figure
