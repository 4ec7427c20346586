// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/pattern/implied_views.h"
#include "figure/pattern/pattern_requests.h"
#include "figure/rollout/rollout_views.h"
#include "headlight/base/error.h"

namespace headlight::figure {
namespace {

/// Number of weights that are computed in less than a frame.
constexpr std::int64_t quick_weights = 2'000'000;

std::vector<HeadId> ids_of(const ViewState& state) {
    std::vector<HeadId> ids;
    for (const Head head : state.heads) ids.push_back({state.layer, head});
    return ids;
}

bool few_weights(const trace::Trace& trace, const ViewState& state) {
    if (state.pattern.hide_sinks) return false;  // sinks are looked for in every head
    const auto heads = static_cast<std::int64_t>(aggregate_of(state) ? chosen_heads(trace, state).size() : state.heads.size());
    return heads * trace.tokens() * trace.keys() <= quick_weights;
}

/// Implied maps have signs that a combination of heads or the parts of a score do not know.
void require_single_heads(const ViewState& state) {
    for (const auto& [name, value] : state.values)
        if (name != "sums")
            throw Error({.problem = "An implied map has no such option",
                         .item = "--" + name + " " + value,
                         .hint = "Leave it out for layers that update a state"});
}

std::unique_ptr<Figure> head(TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
    const auto together = aggregate_of(s);
    if (model::has_implied_map(trace->config(), s.layer.value)) {
        require_single_heads(s);
        return implied_head_view(std::move(trace), s.layer, s.heads, s.pattern, cancel);
    }
    if (!together) return head_view(std::move(trace), s.layer, s.heads, s.pattern, cancel);
    const std::vector<HeadId> of = chosen_heads(*trace, s);
    return aggregate_head_view(std::move(trace), s.layer, s.heads, of, *together, s.pattern, cancel);
}

std::unique_ptr<Figure> matrix(TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
    const auto [combined, sums, parts] = request_of<MatrixRequest>(s);
    if (model::has_implied_map(trace->config(), s.layer.value)) {
        require_single_heads(s);
        return implied_matrix_view(std::move(trace), ids_of(s), s.pattern, sums, cancel);
    }
    if (parts) return score_parts_view(std::move(trace), ids_of(s), cancel);
    const auto together = aggregate_of(s);
    if (!together) return matrix_view(std::move(trace), ids_of(s), s.pattern, sums, cancel);
    const std::vector<HeadId> of = chosen_heads(*trace, s);
    return aggregate_matrix_view(std::move(trace), of, *together, s.pattern, sums, cancel, "matrix");
}

ModelViewOptions model_options(const trace::Trace& trace, const ViewState& state) {
    const auto request = request_of<ModelRequest>(state);
    ModelViewOptions options{
        .cells = request.cells, .mean = request.mean, .detail = state.detail, .together = aggregate_of(state)};
    const auto list = [](const std::string& text, std::int64_t count, const char* option) {
        return text.empty() ? std::vector<std::int64_t>{} : index_list(text, count, option);
    };
    for (const std::int64_t layer : list(request.combined.layers, trace.config().n_layers, "--layers"))
        options.layers.emplace_back(layer);
    for (const std::int64_t h : list(request.over_heads, trace.config().n_heads, "--over-heads")) options.heads.emplace_back(h);
    return options;
}

}  // namespace

std::vector<ViewSpec> pattern_view_specs() {
    return {
        {.id = "head",
         .title = "Head",
         .basis = Basis::patterns,
         .any_mixer = true,
         .across_texts = true,
         .needs = {.layer = true, .heads = true, .pattern = true},
         .all_heads = true,
         .options = options_of<CombinedHeads>(),
         .make = head,
         .quick = few_weights,
         .filters = true},
        {.id = "matrix",
         .title = "Matrix",
         .basis = Basis::patterns,
         .any_mixer = true,
         .across_texts = true,
         .needs = {.layer = true, .heads = true, .pattern = true},
         .options = options_of<MatrixRequest>(),
         .make = matrix,
         .quick = few_weights},
        {.id = "model",
         .title = "Model",
         .basis = Basis::patterns,
         .any_mixer = true,
         .across_texts = true,
         .opens_detail = true,
         .needs = {.pattern = true},
         .overview = {.numbers = false},
         .options = options_of<ModelRequest>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                 if (model::has_implied_maps(trace->config())) {
                     require_single_heads(s);
                     return implied_model_view(std::move(trace), s.pattern, cancel);
                 }
                 const ModelViewOptions options = model_options(*trace, s);
                 return model_view(std::move(trace), s.pattern, options, cancel);
             },
         .quick =
             [](const trace::Trace& trace, const ViewState& s) {
                 const auto& c = trace.config();
                 const std::int64_t times = aggregate_of(s) ? 4 : 1;
                 return !s.pattern.hide_sinks && times * c.n_layers * c.n_heads * trace.tokens() * trace.keys() <= quick_weights;
             },
         .filters = true},
        {.id = "neuron",
         .title = "Neuron",
         .across_texts = true,
         .needs = {.focus = true, .query = true, .hover = true},
         .options = options_of<NeuronViewOptions>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken&, const Progress&) {
                 auto options = request_of<NeuronViewOptions>(s);
                 options.collapsed |= !s.query;
                 const Position query = pinned_or_last(*trace, s);
                 return neuron_view(std::move(trace), s.focus(), query, options);
             },
         .quick = [](const trace::Trace& trace,
                     const ViewState&) { return trace.keys() * trace.config().d_head <= quick_weights; }},
    };
}

}  // namespace headlight::figure
