// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/predictions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct PredictionsCommand : Analysis {
    static constexpr std::int64_t most = 100000;
    std::int64_t count = 1, position = 0;
    CLI::Option *top = nullptr, *mask = nullptr;

    void add(Definition& definition) {
        top = add_count(definition, "--top", count, "candidates to list; classifiers: all classes by default", 1, most);
        mask = add_index(definition, "--mask", position, "masked-word models: mask this token and list its candidates");
    }

    static std::string head_word(const Loaded& loaded) { return std::string(enum_word(head_of(loaded.model->config()))); }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        analyze::require_unembedding(loaded.model->config(), "A prediction");
        const auto trace = run_loaded(loaded, {.globs = {"logits"}, .overview = trace::no_overview}, console);
        if (model::has_classes(loaded.model->config())) {
            if (mask->count() > 0) throw UsageError("--mask: this model fills in no masked token, it is a " + head_word(loaded));
            Result out =
                result(*trace, analyze::table_of(analyze::class_predictions(*trace, top->count() > 0 ? count : most), *trace));
            return std::move(out.fact("head", head_word(loaded)));
        }
        if (mask->count() == 0)
            return result(*trace, analyze::table_of(analyze::predictions(*trace, count), *trace->tokenizer()));
        const analyze::MaskedCandidates found = analyze::masked_candidates(*trace, Position(position), count, loaded.cancel);
        Result out = result(*trace, analyze::table_of(found, *trace->tokenizer()));
        out.fact("masked", position).fact("log_probability", found.log_probability);
        return std::move(out.fact("rank", found.rank));
    }
};

}  // namespace

Action define_analyze_predictions(Definition& definition, const Frontend&) {
    return define_analysis<PredictionsCommand>(definition, kRun);
}

}  // namespace headlight::cli
