// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/logit_lens.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct LensCommand : Analysis {
    analyze::StreamPlace at = analyze::StreamPlace::resid_post;
    std::string tuned;
    std::int64_t top = 10;
    TokenArgument watch{"--watch"};

    void add(Definition& definition) {
        definition.add_enum("--at", at, "which state of each layer is read");
        add_count(definition, "--top", top, "tokens to list for each state", 1, 100000);
        add_path(definition, "--tuned", tuned,
                 "a tuned lens: safetensors with N.A and N.b, or N.weight and N.bias, of each layer N");
        watch.add(definition, "a token to list in every state");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load(console);
        analyze::require_unembedding(loaded.model->config(), "The logit lens");
        analyze::LensOptions options{.at = at, .top = top, .watched = watch.id(loaded, console)};
        if (!tuned.empty()) options.tuned = analyze::TunedLens::load(tuned, loaded.model->config());
        const auto trace = run_loaded(loaded, hooks_alone(), console);
        const analyze::LogitLens lens = analyze::logit_lens(*trace, options, loaded.cancel, console.progress());
        Result found = result(*trace, analyze::table_of(lens, *trace, top));
        found.fact("at", std::string(enum_word(at)));
        if (options.tuned) found.fact("tuned_lens", tuned);
        return found;
    }
};

}  // namespace

Action define_analyze_lens(Definition& definition, const Frontend&) {
    return define_analysis<LensCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
