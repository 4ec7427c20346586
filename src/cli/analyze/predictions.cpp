// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/predictions.h"
#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

#include <cmath>

namespace headlight::cli {
namespace {

struct PredictionsArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t top = 1, position = 0;
    CLI::Option* position_option = nullptr;
};

using Cell = figure::Table::Cell;

void of_next_tokens(Result& result, const trace::Trace& trace, std::int64_t top) {
    result.table.columns = {"position",     "token_id",  "token",         "log_probability", "rank",
                            "next_entropy", "next_rank", "next_token_id", "next_token",      "next_probability"};
    result.definitions = {{"log_probability", "nats, of this token given those before it"},
                          {"rank", "of this token; 0: the likeliest"},
                          {"next_token", "likely after this token"}};
    const std::vector<analyze::TokenPrediction> found = analyze::predictions(trace, top);
    for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t k = 0; k < found[i].next.size(); ++k) {
            const analyze::TokenPrediction& p = found[i];
            result.table.rows.push_back(
                {static_cast<std::int64_t>(i), p.id, text::token_label(*trace.tokenizer(), p.id), p.log_probability,
                 p.rank < 0 ? Cell() : Cell(p.rank), p.entropy, static_cast<std::int64_t>(k), p.next[k].id,
                 text::token_label(*trace.tokenizer(), p.next[k].id), static_cast<double>(p.next[k].probability)});
        }
}

void of_masked_token(Result& result, const trace::Trace& trace, const PredictionsArguments& o, const CancelToken& cancel) {
    const analyze::MaskedCandidates found = analyze::masked_candidates(trace, Position(o.position), o.top, cancel);
    result.facts.emplace_back("masked", std::to_string(o.position));
    result.facts.emplace_back("log_probability", std::to_string(found.log_probability));
    result.facts.emplace_back("rank", std::to_string(found.rank));
    result.table.columns = {"rank", "token_id", "token", "logit", "probability"};
    for (std::size_t k = 0; k < found.candidates.size(); ++k) {
        const analyze::TokenScore& t = found.candidates[k];
        result.table.rows.push_back({static_cast<std::int64_t>(k), t.id, text::token_label(*trace.tokenizer(), t.id),
                                     static_cast<double>(t.logit), static_cast<double>(t.probability)});
    }
}

int predictions(const PredictionsArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const bool masked = o.position_option->count() > 0;
    trace::CapturePlan plan{.globs = {"logits"}, .overview = false};
    analyze::require_unembedding(loaded.model->config(), "A prediction");
    const auto trace = run_loaded(loaded, plan, console);
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    if (masked)
        of_masked_token(result, *trace, o, loaded.cancel);
    else
        of_next_tokens(result, *trace, o.top);
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_predictions(Definition& definition, const Frontend&) {
    auto o = std::make_shared<PredictionsArguments>();
    o->model.add(definition);
    o->text.add(definition);
    definition.app->add_option("--top", o->top, "candidates to list")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    o->position_option =
        add_index(definition, "--mask", o->position, "masked-word models: mask this token and list its candidates");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return predictions(*o, *console); };
}

}  // namespace headlight::cli
