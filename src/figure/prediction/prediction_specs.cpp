// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
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

ViewOption logit_token() {
    return token_option("token", "Token",
                        "attribution, mlp: the token by id or text, or the class; by default the most probable one there");
}

ViewOption logit_minus() {
    return token_option("minus", "Difference to", "attribution, mlp: split the difference to the logit of this token or class");
}

std::string no_logits(const trace::Trace& trace) {
    return trace.config().has_unembedding ? ""
                                          : "This model has no unembedding: it gives no logits. The memories of a "
                                            "layer and every view of attention work.";
}

std::string no_lens(const trace::Trace& trace) {
    if (head_of(trace.config()) == model::HeadKind::question_answering)
        return "This model compares tokens as start and end of the answer, the logit lens the columns of a row. Predictions and "
               "attribution work for it.";
    return no_logits(trace);
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
    return trace.config().mlm_head
               ? "A masked-word head reads the whole state, and not what an MLP adds to it. The logit lens works for it."
               : "";
}

std::string no_output(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    if (!c.has_unembedding)
        return "This model has no unembedding: it predicts no tokens. The memories of a layer and every view of attention "
               "work.";
    return c.causal || c.mlm_head || model::has_classes(c)
               ? ""
               : "This model neither predicts the next token nor fills in a masked one.";
}

}  // namespace

std::vector<ViewSpec> prediction_view_specs() {
    return {
        {.id = "lens",
         .title = "Lens",
         .needs = {.layer = true, .only_with_query = true, .query = true, .chosen = true},
         .options = {choice("at", "State of the layers", "logit lens: which state of each layer is read",
                            analyze::StreamPlace::resid_post),
                     choice("shade", "Colour", "logit lens: what the colour shows", LensColor::probability),
                     token_option("watch", "Watched token",
                                  "logit lens: a token by id or text, or a class; by default the next token of the text"),
                     text_option("tuned", "Tuned lens", "logit lens: a safetensors file with a tuned lens of this model",
                                 "path of a .safetensors file")},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const LensViewOptions options{.at = choice_value<analyze::StreamPlace>(s, "at"),
                                               .color = choice_value<LensColor>(s, "shade"),
                                               .watched = token_value(*trace, s, "watch"),
                                               .tuned = text_value(s, "tuned")};
                 return lens_view(std::move(trace), s.query, s.layer, options, cancel, progress);
             },
         .missing = no_lens},
        {.id = "mlp",
         .title = "MLP",
         .needs = {.layer = true, .query = true, .chosen = true, .neuron = true},
         .options = {flag("gain", "Values with the final norm's gain", "MLP view: read values with the final norm's gain"),
                     choice("memories-by", "Order", "mlp: order of the memories", MlpOrder::strength), logit_token(),
                     logit_minus()},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 MlpViewOptions options{.gain = flag_value(s, "gain"),
                                        .neuron = {},
                                        .order = choice_value<MlpOrder>(s, "memories-by"),
                                        .token = token_value(*trace, s, "token"),
                                        .minus = token_value(*trace, s, "minus")};
                 if (s.neuron && s.neuron->layer == s.layer) options.neuron = s.neuron->neuron;
                 const Position position = position_of(*trace, s);
                 return mlp_view(std::move(trace), s.layer, position, options, cancel, progress);
             }},
        {.id = "attribution",
         .title = "Attribution",
         .across_texts = true,
         .reads_class = true,
         .needs = {.focus = true, .query = true, .chosen = true},
         .options = {logit_token(), logit_minus(),
                     integer_option("mlp", "Neurons of layer",
                                    "attribution: neurons are listed of this layer's MLP; -1: of every layer", "-1", -1, 4095)},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 AttributionViewOptions options{.token = token_value(*trace, s, "token"),
                                                .minus = token_value(*trace, s, "minus")};
                 if (const std::int64_t layer = integer_value(s, "mlp"); layer >= 0) options.mlp = Layer(layer);
                 const Position position = position_of(*trace, s);
                 return attribution_view(std::move(trace), s.focus(), position, options, cancel, progress);
             },
         .missing = no_sum},
        {.id = "refinement",
         .title = "Refinement",
         .needs = {},
         .options = {flag("unembedding", "Without the final norm", "refinement: read vectors by the unembedding alone")},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return refinement_view(std::move(trace), flag_value(s, "unembedding"), cancel, progress);
             },
         .missing = no_single_read},
        {.id = "predictions",
         .title = "Predictions",
         .needs = {.query = true},
         .options = {integer_option("candidates", "Candidates", "predictions: how many likely tokens are listed", "5", 1, 100)},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress&) {
                 return predictions_view(std::move(trace), s.query, integer_value(s, "candidates"), cancel);
             },
         .missing = no_output}};
}

}  // namespace headlight::figure
