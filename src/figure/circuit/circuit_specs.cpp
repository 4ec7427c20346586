// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/circuit/circuit_views.h"
#include "figure/circuit/composition_graph.h"
#include "figure/core/view_tables.h"

#include <mutex>

namespace headlight::figure {
namespace {

/// Scores of the model that was asked about last: options change which arcs are drawn, not the numbers.
std::shared_ptr<const analyze::CompositionScores> scores_of(const std::shared_ptr<const model::Model>& model, bool fold,
                                                            const CancelToken& cancel) {
    static std::mutex guard;
    static std::weak_ptr<const model::Model> last;
    static bool last_fold = false;
    static std::shared_ptr<const analyze::CompositionScores> scores;
    {
        const std::lock_guard lock(guard);
        if (scores && last_fold == fold && last.lock() == model) return scores;
    }
    auto fresh = std::make_shared<const analyze::CompositionScores>(analyze::composition_scores(*model, fold, cancel));
    const std::lock_guard lock(guard);
    last = model;
    last_fold = fold;
    return scores = std::move(fresh);
}

ViewOption fold_option() {
    return {.name = "fold-norms",
            .kind = OptionKind::flag,
            .title = "Norm gains multiplied in",
            .help = "head-circuit, composition: multiply the norms' gains (and centring) into the matrices",
            .initial = ""};
}

analyze::TokenVectors vectors_of(const std::string& word) {
    for (const auto kind : {analyze::TokenVectors::token, analyze::TokenVectors::mlp0})
        if (word == analyze::name_of(kind)) return kind;
    return analyze::TokenVectors::stream;
}

std::string no_direct_path(const trace::Trace& trace) {
    const model::ModelConfig& c = trace.config();
    const bool own = !trace.across_texts();  // heads that read a source write into the decoder's stream
    if (own && !c.has_unembedding)
        return "This model has no unembedding, so nothing a head writes is a token. The head's circuit and composition "
               "work without one.";
    if (c.post_norm && (!own || has_cross_attention(c)))
        return "In this model a norm stands behind every sub-layer, so that no head has a direct path to the logits. Attribution takes its "
               "heads through these norms.";
    if ((own && !c.causal) || c.post_norm || c.mlm_head)
        return "Heads of this model have no direct path to the logits. The head's circuit and composition work without "
               "one.";
    return {};
}

std::string no_tokens(const trace::Trace& trace) {
    return model::reads_pictures(trace.config())
               ? "This model reads pictures: there is no vocabulary that its heads would read. The composition of heads and "
                 "every view of attention work."
               : "";
}

std::string no_prediction(const trace::Trace& trace) {
    if (model::reads_pictures(trace.config()))
        return "What a prediction depends on is asked of the tokens of a text. The lens and the attribution work.";
    return trace.config().has_unembedding
               ? ""
               : "This model has no unembedding, so it predicts nothing. Attention can be seen in the other views.";
}

}  // namespace

std::vector<ViewSpec> circuit_view_specs() {
    return {
        {.id = "head-circuit",
         .title = "Head circuit",
         .group = "Circuits",
         .needs = {.focus = true},
         .options = {fold_option(),
                     {.name = "embedding",
                      .kind = OptionKind::choice,
                      .title = "A token is",
                      .help = "head-circuit: what stands for a token in the tables",
                      .initial = "stream",
                      .choices = {{"token", "Its row of the embedding"},
                                  {"stream", "What enters the first layer"},
                                  {"mlp0", "The stream after the first layer's MLP"}}},
                     {.name = "diagonal",
                      .kind = OptionKind::flag,
                      .title = "Ranks over the whole vocabulary",
                      .help = "head-circuit: where every token stands in its own row",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 return head_circuit_view(std::move(trace), s.focus(),
                                          {.fold_norms = flag_value(s, "fold-norms"),
                                           .diagonal = flag_value(s, "diagonal"),
                                           .tokens = vectors_of(text_value(s, "embedding"))},
                                          cancel);
             },
         .missing = no_tokens},
        {.id = "composition",
         .title = "Composition",
         .group = "Circuits",
         .needs = {},
         .options = {{.name = "kinds",
                      .kind = OptionKind::choice,
                      .title = "Kinds",
                      .help = "composition: which input of the later head reads",
                      .initial = "all",
                      .choices = {{"all", "Q, K and V"}, {"q", "Q composition"}, {"k", "K composition"}, {"v", "V composition"}}},
                     {.name = "least",
                      .kind = OptionKind::number,
                      .title = "Least score",
                      .help = "composition: arcs with a lower score are left out",
                      .initial = "0",
                      .low = 0,
                      .high = 1},
                     {.name = "arcs",
                      .kind = OptionKind::integer,
                      .title = "Arcs",
                      .help = "composition: how many of the strongest are drawn",
                      .initial = "60",
                      .low = 1,
                      .high = 5000},
                     fold_option()},
         .make = [](TracePtr trace, const ViewState& s, const CancelToken& cancel) -> std::unique_ptr<Figure> {
             const std::string kinds = text_value(s, "kinds");
             const auto has = [&](const char* kind) { return kinds == "all" || kinds == kind; };
             return std::make_unique<CompositionGraph>(scores_of(trace->model(), flag_value(s, "fold-norms"), cancel),
                                                       CompositionOptions{.kinds = {has("q"), has("k"), has("v")},
                                                                          .threshold = number_value(s, "least"),
                                                                          .most = integer_value(s, "arcs")});
         }},
        {.id = "copy-suppression",
         .title = "Copy suppression",
         .group = "Circuits",
         .needs = {.focus = true},
         .options = {{.name = "attention-above",
                      .kind = OptionKind::number,
                      .title = "Attention above",
                      .help = "copy-suppression: pairs with more attention than this",
                      .initial = "0.1",
                      .low = 0,
                      .high = 1},
                     {.name = "explained",
                      .kind = OptionKind::flag,
                      .title = "Explained fraction",
                      .help = "copy-suppression: how much of the head it is, by ablation",
                      .initial = ""}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 return copy_suppression_view(std::move(trace), s.focus(), number_value(s, "attention-above"),
                                              flag_value(s, "explained"), cancel);
             },
         .missing = no_direct_path},
        {.id = "importance",
         .title = "Importance",
         .group = "Circuits",
         .needs = {.query = true},
         .options = {{.name = "target",
                      .kind = OptionKind::text,
                      .title = "Predicted token",
                      .help = "importance: token asked about, by id or text; next: the one in the text; default: the "
                              "most probable one",
                      .initial = ""},
                     {.name = "no-blank-out",
                      .kind = OptionKind::flag,
                      .title = "Without blank-out",
                      .help = "importance: leave out blank-out, which takes one pass a token",
                      .initial = ""},
                     {.name = "long-texts",
                      .kind = OptionKind::flag,
                      .title = "Blank-out and shuffles on long texts",
                      .help = "importance: also where the position reads more than 128 tokens; takes a pass each",
                      .initial = ""},
                     {.name = "shuffles",
                      .kind = OptionKind::integer,
                      .title = "Shuffles",
                      .help = "importance: of each layer's weights; 0: none",
                      .initial = "20",
                      .low = 0,
                      .high = 10000}},
         .make =
             [](TracePtr trace, const ViewState& s, const CancelToken& cancel) {
                 // The last token that is no special one: nobody asks what an encoder predicts for [SEP].
                 std::int64_t last = trace->tokens() - 1;
                 while (last > 0 && trace->encoding().special[static_cast<std::size_t>(last)]) --last;
                 const Position position = s.query.value_or(Position(last));
                 return importance_view(std::move(trace), position,
                                        {.target = text_value(s, "target"),
                                         .blank_out = !flag_value(s, "no-blank-out"),
                                         .permutations = integer_value(s, "shuffles"),
                                         .long_texts = flag_value(s, "long-texts")},
                                        cancel);
             },
         .missing = no_prediction},
    };
}

}  // namespace headlight::figure
