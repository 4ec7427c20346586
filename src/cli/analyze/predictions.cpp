// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/predictions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct PredictionsCommand : Analysis {
    static constexpr std::int64_t most = 100000;
    std::int64_t position = 0;
    analyze::PredictionsRequest asked;
    CLI::Option* mask = nullptr;

    void add(Definition& definition) {
        add_fields(definition, asked);
        mask = add_index(definition, "--mask", position, "masked-word models: mask this token and list its candidates");
    }

    static std::string head_word(const Loaded& loaded) { return std::string(enum_word(head_of(loaded.model->config()))); }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        analyze::require_unembedding(loaded.model->config(), "A prediction");
        const auto trace = run_loaded(loaded, {.globs = {"logits"}, .overview = trace::no_overview}, console);
        if (model::has_classes(loaded.model->config())) {
            if (mask->count() > 0) throw UsageError("--mask: this model fills in no masked token, it is a " + head_word(loaded));
            const std::int64_t classes = cli_app->count("--top") > 0 ? asked.top : most;  // all of them by default
            Result out = result(*trace, analyze::table_of(analyze::class_predictions(*trace, classes), *trace));
            return std::move(out.fact("head", head_word(loaded)));
        }
        if (mask->count() == 0)
            return result(*trace, analyze::table_of(analyze::predictions(*trace, asked.top), *trace->tokenizer()));
        const analyze::MaskedCandidates found = analyze::masked_candidates(*trace, Position(position), asked.top, loaded.cancel);
        Result out = result(*trace, analyze::table_of(found, *trace->tokenizer()));
        out.fact("masked", position).fact("log_probability", found.log_probability);
        return std::move(out.fact("rank", found.rank));
    }
};

}  // namespace

Action define_analyze_predictions(Definition& definition, const Frontend&) {
    return define_analysis<PredictionsCommand>(definition, kRun | kAnyMixer);
}

}  // namespace headlight::cli
