// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/copy_suppression.h"
#include "cli/analyze/analyses.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

namespace headlight::cli {
namespace {

struct CopySuppressionArguments {
    ModelArgument model;
    TextArguments text;
    AttentionArgument attention;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = -1, head = -1;
    analyze::CopySuppressionOptions options;
    bool explained = false;
};

using Definitions = std::vector<std::pair<std::string, std::string>>;

const Definitions kPairDefinitions = {
    {"attention", "softmax weight from destination to source"},
    {"predicted_rank",
     "rank of the source's token by the logit lens of the stream before the layer (of a head that reads a source: before that attention); 0: top prediction"},
    {"logit_change", "direct effect of the head at the destination on the logit of the source's token"},
    {"rank", "tokens whose logit the head lowers more there; 0: the source's token is the most suppressed"},
    {"pair_logit_change", "what this source alone adds of logit_change"}};

const Definitions kHeadDefinitions = {
    {"pairs", "pairs with more attention than the threshold"},
    {"share_bottom_10", "of them: source's token among the ten that the head lowers most"},
    {"share_bottom_5_percent", "among the lowest 5 % of the vocabulary"},
    {"kl_preserved", "nats: usual prediction against the one where only copy suppression is left of the head"},
    {"kl_ablated", "nats: against the one with the head's output replaced by its mean"},
    {"explained", "1 - kl_preserved / kl_ablated"}};

Result pair_table(const trace::Trace& trace, const std::vector<analyze::SuppressedPair>& pairs) {
    Result result{.table = {}, .arrays = {}, .definitions = kPairDefinitions, .facts = facts_of(trace)};
    result.table.columns = {"layer",        "head",      "destination",    "destination_token", "source", "source_token_id",
                            "source_token", "attention", "predicted_rank", "logit_change",      "rank",   "pair_logit_change"};
    const auto label = [&](const text::Encoding& of, Position p) {
        return text::token_label(*trace.tokenizer(), of.ids[static_cast<std::size_t>(p.value)]);
    };
    for (const analyze::SuppressedPair& p : pairs)
        result.table.rows.push_back(
            {p.head.layer.value, p.head.head.value, p.destination.value, label(trace.encoding(), p.destination), p.source.value,
             trace.key_encoding().ids[static_cast<std::size_t>(p.source.value)], label(trace.key_encoding(), p.source),
             p.attention, p.predicted_rank, p.logit_change, p.rank, p.pair_logit_change});
    return result;
}

Result head_table(const trace::Trace& trace, std::optional<HeadId> only, const analyze::CopySuppressionOptions& o,
                  const CancelToken& cancel, const Console& console) {
    Result result{.table = {}, .arrays = {}, .definitions = kHeadDefinitions, .facts = facts_of(trace)};
    result.table.columns = {
        "layer",        "head",       "pairs",    "share_bottom_10", "share_bottom_5_percent", "mean_logit_change",
        "kl_preserved", "kl_ablated", "explained"};
    const model::ModelConfig& c = trace.config();
    const Progress progress = console.progress();
    for (std::int64_t i = 0; i < c.n_layers * c.n_heads; ++i) {
        const HeadId id{Layer(i / c.n_heads), Head(i % c.n_heads)};
        if (only && *only != id) continue;
        if (progress) progress({"Ablating", "head", i, c.n_layers * c.n_heads});
        const analyze::SuppressionExplained e = analyze::suppression_explained(trace, id, o, cancel);
        result.table.rows.push_back({id.layer.value, id.head.value, e.pairs, e.share_bottom_10, e.share_bottom_5pc,
                                     e.mean_logit_change, e.kl_preserved, e.kl_ablated, e.explained});
    }
    return result;
}

int copy_suppression(const CopySuppressionArguments& o, const Console& console) {
    if ((o.layer < 0) != (o.head < 0)) throw UsageError("--layer and --head name one head: give both or none");
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto run = run_loaded(loaded, {}, console);
    const auto trace = o.attention.of(run);
    analyze::CopySuppressionOptions options = o.options;
    options.of_source = trace->across_texts();
    const trace::Trace& asked = options.of_source ? *run : *trace;
    std::optional<HeadId> only;
    if (o.layer >= 0) only = HeadId{Layer(o.layer), Head(o.head)};
    Result result = o.explained
                        ? head_table(asked, only, options, loaded.cancel, console)
                        : pair_table(*trace, analyze::suppressed_pairs(asked, only, options, loaded.cancel, console.progress()));
    console.clear_progress();
    if (o.attention.given()) result.facts.emplace_back("attention", o.attention.word);
    result.facts.emplace_back("threshold", std::to_string(o.options.threshold));
    if (o.explained) result.facts.emplace_back("kept_share", std::to_string(o.options.kept_share));
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_copy_suppression(Definition& definition, const Frontend&) {
    auto options = std::make_shared<CopySuppressionArguments>();
    CLI::App& app = *definition.app;
    options->model.add(definition);
    options->text.add(definition);
    options->attention.add(definition);
    app.add_option("--layer", options->layer, "with --head: only this head")->type_name("N")->check(counted_from_zero());
    app.add_option("--head", options->head, "with --layer: only this head")->type_name("N")->check(counted_from_zero());
    app.add_option("--threshold", options->options.threshold, "pairs with more attention than this")
        ->capture_default_str()
        ->type_name("X")
        ->check(CLI::Range(0.0, 1.0));
    app.add_flag("--explained", options->explained, "one row a head: how much of it is copy suppression, by ablation");
    app.add_option("--kept-share", options->options.kept_share,
                   "with --explained: share of a destination's sources that may stay")
        ->capture_default_str()
        ->type_name("X")
        ->check(CLI::Range(0.0, 1.0));
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return copy_suppression(*options, *console); };
}

}  // namespace headlight::cli
