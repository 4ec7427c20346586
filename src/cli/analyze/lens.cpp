// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/logit_lens.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct LensCommand : Analysis {
    analyze::LensRequest asked;

    void add(Definition& definition) { add_fields(definition, asked); }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        const model::ModelConfig& config = loaded.model->config();
        analyze::require_unembedding(config, "The logit lens");
        note_tokens(asked, loaded, console);
        analyze::LensOptions options = analyze::lens_asked(config, *loaded.tokenizer, asked);
        if (!asked.tuned.empty()) options.tuned = analyze::TunedLens::load(asked.tuned, config);
        const auto trace = run_loaded(loaded, hooks_alone(), console);
        const analyze::LogitLens lens = analyze::logit_lens(*trace, options, loaded.cancel, console.progress());
        Result found = result(*trace, analyze::table_of(lens, *trace, asked.top));
        found.fact("at", std::string(enum_word(asked.at)));
        if (options.tuned) found.fact("tuned_lens", asked.tuned);
        return found;
    }
};

}  // namespace

Action define_analyze_lens(Definition& definition, const Frontend&) {
    return define_analysis<LensCommand>(definition, kRun | kImage | kAnyMixer);
}

}  // namespace headlight::cli
