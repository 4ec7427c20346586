// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "figure/prediction/prediction_views.h"

#include <algorithm>

namespace headlight::figure {
namespace {

/// The pinned query, or the last token.
Position position_of(const trace::Trace& trace, const ViewState& state) {
    // A picture's class is read off its first token, what comes behind a text off its last.
    return state.query.value_or(Position(model::reads_pictures(trace.config()) ? 0 : trace.tokens() - 1));
}

LensViewOptions lens_options(const trace::Trace& trace, const ViewState& state) {
    const std::string at = text_value(state, "at"), color = text_value(state, "shade");
    LensViewOptions options;
    for (const auto place : {analyze::StreamPlace::resid_pre, analyze::StreamPlace::resid_mid})
        if (at == analyze::name_of(place)) options.at = place;
    options.color = color == "rank"      ? LensColor::rank
                    : color == "entropy" ? LensColor::entropy
                    : color == "kl"      ? LensColor::kl
                                         : LensColor::probability;
    options.watched = token_value(trace, state, "watch");
    options.tuned = text_value(state, "tuned");
    return options;
}

std::string no_logits(const trace::Trace& trace) {
    return trace.config().has_unembedding ? ""
                                          : "This model has no unembedding: it gives no logits. The memories of a "
                                            "layer and every view of attention work.";
}

std::string no_sum(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    if (trace.across_texts()) return "";  // of its decoder
    if (!c.has_unembedding) return no_logits(trace);
    if (c.post_norm && has_cross_attention(c)) return "";  // through the norms behind each part
    return c.mlm_head || c.post_norm ? "In this model a logit is not a sum over what was written into the stream. The "
                                       "logit lens works for it."
                                     : "";
}

std::string no_single_read(const trace::Trace& trace) {
    if (!trace.config().has_unembedding) return no_logits(trace);
    return trace.config().mlm_head
               ? "A masked-word head reads the whole state, and not what an MLP adds to it. The logit lens works for it."
               : "";
}

}  // namespace

std::vector<ViewSpec> prediction_view_specs() {
    return {
        {.id = "lens",
         .title = "Lens",
         .group = "Prediction",
         .tab = true,
         .needs = {.layer = true, .query = true},
         .options = {{.name = "at",
                      .kind = OptionKind::choice,
                      .title = "State of the layers",
                      .help = "logit lens: which state of each layer is read",
                      .initial = "resid_post",
                      .choices = {{"resid_pre", "Before the layer"},
                                  {"resid_mid", "Behind attention"},
                                  {"resid_post", "Behind the layer"}}},
                     {.name = "shade",
                      .kind = OptionKind::choice,
                      .title = "Colour",
                      .help = "logit lens: what the colour says",
                      .initial = "probability",
                      .choices = {{"probability", "Probability of the likeliest token"},
                                  {"rank", "Rank of the watched token"},
                                  {"entropy", "Entropy"},
                                  {"kl", "KL divergence to the output"}}},
                     {.name = "watch",
                      .kind = OptionKind::text,
                      .title = "Watched token",
                      .help = "logit lens: a token by id or text; by default the one that the text goes on with",
                      .initial = ""},
                     {.name = "tuned",
                      .kind = OptionKind::text,
                      .title = "Tuned lens",
                      .help = "logit lens: a safetensors file with a tuned lens of this model",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 const LensViewOptions options = lens_options(*trace, s);
                 return lens_view(std::move(trace), s.query, s.layer, options, cancel);
             },
         .missing = no_logits},
        {.id = "mlp",
         .title = "MLP",
         .group = "Prediction",
         .tab = true,
         .needs = {.layer = true, .query = true, .neuron = true},
         .options = {{.name = "gain",
                      .kind = OptionKind::flag,
                      .title = "Values with the final norm's gain",
                      .help = "MLP view: read values with the final norm's gain",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 MlpViewOptions options{.gain = flag_value(s, "gain"), .neuron = {}};
                 if (s.neuron && s.neuron->layer == s.layer) options.neuron = s.neuron->neuron;
                 const Position position = position_of(*trace, s);
                 return mlp_view(std::move(trace), s.layer, position, options, cancel);
             }},
        {.id = "attribution",
         .title = "Attribution",
         .group = "Prediction",
         .tab = true,
         .needs = {.focus = true, .query = true},
         .options = {{.name = "token",
                      .kind = OptionKind::text,
                      .title = "Token",
                      .help = "attribution: the token by id or text; by default the likeliest there",
                      .initial = ""},
                     {.name = "minus",
                      .kind = OptionKind::text,
                      .title = "Difference to",
                      .help = "attribution: split the difference to this token's logit",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken&) {
                 const AttributionViewOptions options{token_value(*trace, s, "token"), token_value(*trace, s, "minus")};
                 const Position position = position_of(*trace, s);
                 return attribution_view(std::move(trace), s.focus(), position, options);
             },
         .missing = no_sum},
        {.id = "refinement",
         .title = "Refinement",
         .group = "Prediction",
         .needs = {},
         .options = {{.name = "unembedding",
                      .kind = OptionKind::flag,
                      .title = "Without the final norm",
                      .help = "refinement: read vectors by the unembedding alone",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 return refinement_view(std::move(trace), {.unembedding = flag_value(s, "unembedding")}, cancel);
             },
         .missing = no_single_read},
    };
}

}  // namespace headlight::figure
