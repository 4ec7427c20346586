// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/prediction/logit_lens.h"

#include <algorithm>
#include <limits>

namespace headlight::cli {
namespace {

using analyze::LensState;
using analyze::StreamPlace;

struct LensArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::string at = "resid_post", tuned;
    std::int64_t top = 10;
    TokenArgument watch{"--watch"};
};

StreamPlace place_of(const std::string& name) {
    for (const StreamPlace place : {StreamPlace::resid_pre, StreamPlace::resid_mid})
        if (name == analyze::name_of(place)) return place;
    return StreamPlace::resid_post;
}

void add_state(figure::Table& table, const trace::Trace& trace, const analyze::LogitLens& lens, std::int64_t layer,
               std::int64_t position) {
    const LensState& state = lens.state(layer, Position(position));
    const auto row = [&](std::int64_t rank, const analyze::TokenScore& token) {
        auto& cells = table.rows.emplace_back();
        cells = {layer,
                 position,
                 rank,
                 token.id,
                 text::token_label(*trace.tokenizer(), token.id),
                 static_cast<double>(token.logit),
                 static_cast<double>(token.probability)};
        if (rank == 0) {
            cells.emplace_back(state.kl_to_final);
            cells.emplace_back(state.entropy);
        } else {
            cells.resize(table.columns.size());
        }
    };
    for (std::size_t rank = 0; rank < state.top.size(); ++rank) row(static_cast<std::int64_t>(rank), state.top[rank]);
    const bool listed = std::any_of(state.top.begin(), state.top.end(), [&](const auto& t) { return t.id == lens.watched; });
    if (lens.watched && !listed) row(state.watched_rank, state.watched);
}

int lens(const LensArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    analyze::require_unembedding(loaded.model->config(), "The logit lens");
    analyze::LensOptions options{.at = place_of(o.at),
                                 .top = o.top,
                                 .watched = o.watch.id(*loaded.tokenizer, loaded.model->config(), console),
                                 .watch_text = false,
                                 .tuned = {}};
    if (!o.tuned.empty()) options.tuned = analyze::TunedLens::load(o.tuned, loaded.model->config());
    const auto trace = run_loaded(loaded, {}, console);
    const analyze::LogitLens read = analyze::logit_lens(*trace, options, loaded.cancel, console.progress());
    console.clear_progress();
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.facts.emplace_back("at", o.at);
    if (options.tuned) result.facts.emplace_back("tuned_lens", o.tuned);
    result.table.columns = {"layer", "position", "rank", "token_id", "token", "logit", "probability", "kl_to_final", "entropy"};
    result.definitions = {{"layer", "-1: the model's output"},
                          {"rank", "0: the likeliest token"},
                          {"logit", "LN_f(state) W_U + b_U, the norm's statistics those of the state"},
                          {"kl_to_final", "nats, KL(model's output || this state), on rank 0"},
                          {"entropy", "nats, on rank 0"}};
    for (std::int64_t layer = 0; layer <= read.layers; ++layer)
        for (std::int64_t position = 0; position < read.positions; ++position)
            add_state(result.table, *trace, read, layer == read.layers ? -1 : layer, position);
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_lens(Definition& definition, const Frontend&) {
    auto o = std::make_shared<LensArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    definition.add_choice("--at", o->at, {"resid_pre", "resid_mid", "resid_post"}, "which state of each layer is read");
    definition.app->add_option("--top", o->top, "tokens to list for each state")
        ->type_name("N")
        ->capture_default_str()
        ->check(CLI::Range(1, 100000));
    CLI::Option* tuned = definition.app->add_option("--tuned", o->tuned,
                                                    "a tuned lens: safetensors with N.A and N.b, or N.weight and N.bias, of "
                                                    "each layer N");
    tuned->type_name("FILE");
    definition.kinds[tuned] = ValueKind::file;
    o->watch.add(definition, "a token to list in every state");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return lens(*o, *console); };
}

}  // namespace headlight::cli
