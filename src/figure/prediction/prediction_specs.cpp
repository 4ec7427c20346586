// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "figure/prediction/prediction_views.h"
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/prediction/outputs.h"

namespace headlight::figure {
namespace {

/// The pinned query, or the token that classes are read from, or the last one.
Position position_of(const trace::Trace& trace, const ViewState& state) {
    return state.query.value_or(analyze::output_position(trace));
}

std::string no_logits(const trace::Trace& trace) {
    return trace.config().has_unembedding ? ""
                                          : "This model has no unembedding: it gives no logits. The memories of a "
                                            "layer and every view of attention work.";
}

std::string no_sum(const trace::Trace& trace) {
    if (trace.across_texts()) return "";  // of its decoder
    if (!trace.config().has_unembedding) return no_logits(trace);
    return analyze::splits_logits(trace.config()) ? ""
                                                  : "In this model a logit is not a sum over what was written into the stream. "
                                                    "The logit lens works for it.";
}

std::string no_single_read(const trace::Trace& trace) {
    if (!trace.config().has_unembedding) return no_logits(trace);
    if (trace.config().class_head.any())
        return "The logits of this model are of classes, not of tokens. The logit lens works for it.";
    return model::fills_masks(trace.config())
               ? "A masked-word head reads the whole state, and not what an MLP adds to it. The logit lens works for it."
               : "";
}

std::string no_output(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    if (!c.has_unembedding)
        return "This model has no unembedding: it predicts no tokens. The memories of a layer and every view of attention "
               "work.";
    return c.causal || model::fills_masks(c) || model::has_classes(c)
               ? ""
               : "This model neither predicts the next token nor fills in a masked one.";
}

}  // namespace

std::vector<ViewSpec> prediction_view_specs() {
    return {{.id = "lens",
             .title = "Lens",
             .known_as = "logit lens",
             .any_mixer = true,
             .reads_head = true,
             .needs = {.layer = true, .only_with_query = true, .query = true, .chosen = true},
             .options = options_of<LensViewOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     return lens_view(std::move(trace), s.query, s.layer, request_of<LensViewOptions>(s), cancel, progress);
                 },
             .missing = no_logits},
            {.id = "mlp",
             .title = "MLP",
             .needs = {.layer = true, .query = true, .chosen = true, .neuron = true},
             .options = options_of<analyze::MemoriesRequest>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     std::optional<Neuron> followed;
                     if (s.neuron && s.neuron->layer == s.layer) followed = s.neuron->neuron;
                     const Position position = position_of(*trace, s);
                     return mlp_view(std::move(trace), s.layer, position, followed, request_of<analyze::MemoriesRequest>(s),
                                     cancel, progress);
                 }},
            {.id = "attribution",
             .title = "Attribution",
             .known_as = "direct logit attribution",
             .across_texts = true,
             .reads_class = true,
             .reads_head = true,
             .needs = {.focus = true, .query = true, .chosen = true},
             .options = options_of<AttributionViewOptions>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     const Position position = head_position(*trace, view_spec("attribution"), s.query);
                     return attribution_view(std::move(trace), s.focus(), position, request_of<AttributionViewOptions>(s), cancel,
                                             progress);
                 },
             .missing = no_sum,
             .filters = true},
            {.id = "refinement",
             .title = "Refinement",
             .needs = {},
             .options = options_of<analyze::RefinementRequest>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                     return refinement_view(std::move(trace), request_of<analyze::RefinementRequest>(s), cancel, progress);
                 },
             .missing = no_single_read},
            {.id = "predictions",
             .title = "Predictions",
             .any_mixer = true,
             .reads_head = true,
             .needs = {.query = true},
             .options = options_of<analyze::PredictionsRequest>(),
             .make =
                 [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                     return predictions_view(std::move(trace), s.query, request_of<analyze::PredictionsRequest>(s).top, cancel);
                 },
             .missing = no_output}};
}

}  // namespace headlight::figure
