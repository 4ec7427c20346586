// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"
#include "figure/circuit/composition_graph.h"
#include "figure/core/view_fields.h"
#include "figure/core/view_tables.h"
#include "headlight/trace/edits.h"

#include <algorithm>

namespace headlight::figure {
namespace {

struct ScoresKey {
    bool fold_norms;
    bool operator==(const ScoresKey&) const = default;
};

/// Kept with the model: options change which arcs are drawn, not the numbers.
std::shared_ptr<const analyze::CompositionScores> scores_of(const model::Model& model, bool fold, const CancelToken& cancel,
                                                            const Progress& progress) {
    return model.results().get(
        ScoresKey{fold}, [&] { return analyze::composition_scores(model, fold, cancel, progress); },
        [](const analyze::CompositionScores& scores) {
            std::int64_t numbers = 0;
            for (const auto& kind : scores.values) numbers += std::ssize(kind);
            return numbers * static_cast<std::int64_t>(sizeof(double));
        });
}

std::vector<ViewOption> circuit_options() {
    std::vector<ViewOption> options = options_of<CircuitViewOptions>();
    std::ranges::find(options, "embedding", &ViewOption::name)->choices.pop_back();  // W_U stands for no token that is read
    return options;
}

std::string no_direct_path(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    const bool own = !trace.across_texts();  // heads that read a source write into the decoder's stream
    if (c.class_head.any())
        return "The logits of this model are of classes, so nothing a head writes is a token. The head's circuit, composition and "
               "attribution to a class work.";
    if (own && !c.has_unembedding)
        return "This model has no unembedding, so nothing a head writes is a token. The head's circuit and composition "
               "work without one.";
    if (c.post_norm && (!own || has_cross_attention(c)))
        return "In this model a norm follows every sub-layer, so that no head has a direct path to the logits. Attribution takes "
               "its heads through these norms.";
    if ((own && !c.causal) || c.post_norm || c.mlm_head)
        return "Heads of this model have no direct path to the logits. The head's circuit and composition work without "
               "one.";
    return {};
}

std::string no_tokens(const trace::Trace& trace) {
    return model::reads_pictures(trace.config())
               ? "This model reads pictures, so its heads read no vocabulary. The composition of heads and every view of "
                 "attention work."
               : "";
}

std::string no_prediction(const trace::Trace& trace) {
    if (model::reads_pictures(trace.config()))
        return "Importance is defined for the tokens of a text. The lens and the attribution work.";
    if (!trace::edits_of(trace).empty())
        return "Importance runs the model by itself, without the edits of this run. Switch the edits off, or look at another view.";
    if (head_of(trace.config()) == model::HeadKind::question_answering && trace.config().causal)
        return "Importance in a causal model reads the text up to a token, and a start or end of an answer is one among all tokens. "
               "The lens and attribution work for it.";
    return trace.config().has_unembedding
               ? ""
               : "This model has no unembedding, so it predicts nothing. Attention can be seen in the other views.";
}

}  // namespace

std::vector<ViewSpec> circuit_view_specs() {
    return {
        {.id = "head-circuit",
         .title = "Head circuit",
         .needs = {.focus = true},
         .options = circuit_options(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return head_circuit_view(std::move(trace), s.focus(), request_of<CircuitViewOptions>(s), cancel, progress);
             },
         .missing = no_tokens},
        {.id = "composition",
         .title = "Composition",
         .options = options_of<CompositionOptions>(),
         .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel,
                    const Progress& progress) -> std::unique_ptr<Figure> {
             const auto options = request_of<CompositionOptions>(s);
             return std::make_unique<CompositionGraph>(scores_of(*trace->model(), options.asked.fold_norms, cancel, progress),
                                                       options);
         },
         .filters = true},
        {.id = "copy-suppression",
         .title = "Copy suppression",
         .across_texts = true,
         .needs = {.focus = true},
         .options = options_of<analyze::CopySuppressionRequest>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return copy_suppression_view(std::move(trace), s.focus(), request_of<analyze::CopySuppressionRequest>(s), cancel,
                                              progress);
             },
         .missing = no_direct_path},
        {.id = "importance",
         .title = "Importance",
         .reads_head = true,
         .skips_special = true,
         .needs = {.query = true, .chosen = true},
         .options = options_of<ImportanceViewOptions>(),
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const Position position = head_position(*trace, view_spec("importance"), s.query);
                 return importance_view(std::move(trace), position, request_of<ImportanceViewOptions>(s), cancel, progress);
             },
         .missing = no_prediction},
    };
}

}  // namespace headlight::figure
