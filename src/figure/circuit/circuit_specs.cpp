// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"
#include "figure/circuit/composition_graph.h"
#include "figure/core/shared_options.h"
#include "figure/core/view_tables.h"
#include "headlight/trace/edits.h"

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

ViewOption fold_option() {
    return flag("fold-norms", "Norm gains multiplied in",
                "head-circuit, composition: multiply the norms' gains (and centring) into the matrices");
}

ViewOption embedding_option() {
    ViewOption option =
        choice("embedding", "A token is", "head-circuit: what stands for a token in the tables", analyze::TokenVectors::stream);
    option.choices.pop_back();  // the unembedding stands for no token that is read
    return option;
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
    if (head_of(trace.config()) == model::HeadKind::question_answering)
        return "Importance asks about one row of logits, and this model compares its rows. Predictions and attribution work for it.";
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
         .options = {fold_option(), embedding_option(),
                     flag("diagonal", "Ranks over the whole vocabulary",
                          "head-circuit: where every token stands in its own row")},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return head_circuit_view(std::move(trace), s.focus(),
                                          {.fold_norms = flag_value(s, "fold-norms"),
                                           .diagonal = flag_value(s, "diagonal"),
                                           .tokens = choice_value<analyze::TokenVectors>(s, "embedding")},
                                          cancel, progress);
             },
         .missing = no_tokens},
        {.id = "composition",
         .title = "Composition",
         .options = {{.name = "kinds",
                      .kind = OptionKind::choice,
                      .title = "Kinds",
                      .help = "composition: which input of the later head reads",
                      .initial = "all",
                      .choices = {{"all", "Q, K and V"}, {"q", "Q composition"}, {"k", "K composition"}, {"v", "V composition"}}},
                     number_option("least", "Least score", "composition: arcs with a lower score are left out", "0", 0, 1),
                     integer_option("arcs", "Arcs", "composition: how many of the strongest are drawn", "60", 1, 5000),
                     fold_option()},
         .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel,
                    const Progress& progress) -> std::unique_ptr<Figure> {
             const std::string kinds = text_value(s, "kinds");
             const auto has = [&](const char* kind) { return kinds == "all" || kinds == kind; };
             return std::make_unique<CompositionGraph>(scores_of(*trace->model(), flag_value(s, "fold-norms"), cancel, progress),
                                                       CompositionOptions{.kinds = {has("q"), has("k"), has("v")},
                                                                          .threshold = number_value(s, "least"),
                                                                          .most = integer_value(s, "arcs")});
         },
         .filters = true},
        {.id = "copy-suppression",
         .title = "Copy suppression",
         .across_texts = true,
         .needs = {.focus = true},
         .options = {number_option("attention-above", "Attention above", "copy-suppression: pairs with more attention than this",
                                   "0.1", 0, 1),
                     flag("explained", "Explained fraction", "copy-suppression: how much of the head it is, by ablation")},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 return copy_suppression_view(std::move(trace), s.focus(), number_value(s, "attention-above"),
                                              flag_value(s, "explained"), cancel, progress);
             },
         .missing = no_direct_path},
        {.id = "importance",
         .title = "Importance",
         .skips_special = true,
         .needs = {.query = true, .chosen = true},
         .options = {target_option(
                         "target", "Predicted token",
                         "importance: the predicted token, by id or text, or class; next: the one in the text; default: the most "
                         "probable one"),
                     flag("no-blank-out", "Without blank-out", "importance: leave out blank-out, which takes one pass a token"),
                     flag("long-texts", "Blank-out and shuffles on long texts",
                          "importance: also where the position reads more than 128 tokens; takes a pass each"),
                     integer_option("shuffles", "Shuffles", "importance: of each layer's weights; 0: none", "20", 0, 10000)},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel, const Progress& progress) {
                 const Position position = s.query.value_or(default_position(*trace, view_spec("importance")));
                 return importance_view(std::move(trace), position,
                                        {.target = text_value(s, "target"),
                                         .blank_out = !flag_value(s, "no-blank-out"),
                                         .permutations = integer_value(s, "shuffles"),
                                         .long_texts = flag_value(s, "long-texts")},
                                        cancel, progress);
             },
         .missing = no_prediction},
    };
}

}  // namespace headlight::figure
