// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/predictions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct PredictionsCommand : Analysis {
    std::int64_t top = 1, position = 0;
    CLI::Option* mask = nullptr;

    void add(Definition& definition) {
        add_count(definition, "--top", top, "candidates to list", 1, 100000);
        mask = add_index(definition, "--mask", position, "masked-word models: mask this token and list its candidates");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        analyze::require_unembedding(loaded.model->config(), "A prediction");
        const auto trace = run_loaded(loaded, {.globs = {"logits"}, .overview = trace::no_overview}, console);
        if (mask->count() == 0) return result(*trace, analyze::table_of(analyze::predictions(*trace, top), *trace->tokenizer()));
        const analyze::MaskedCandidates found = analyze::masked_candidates(*trace, Position(position), top, loaded.cancel);
        Result out = result(*trace, analyze::table_of(found, *trace->tokenizer()));
        out.fact("masked", position).fact("log_probability", std::to_string(found.log_probability));
        return std::move(out.fact("rank", found.rank));
    }
};

}  // namespace

Action define_analyze_predictions(Definition& definition, const Frontend&) {
    return define_analysis<PredictionsCommand>(definition, kRun);
}

}  // namespace headlight::cli
