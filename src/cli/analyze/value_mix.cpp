// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/value_mix.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct ValueMixCommand : Analysis {
    std::int64_t layer = -1, head = -1;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the pairs of this layer instead of the ratios of all");
        add_index(definition, "--head", head, "and of one of its heads");
    }

    Result run(const Console& console) const {
        if (head >= 0 && layer < 0) throw UsageError("--head needs --layer");
        const Run run = run_text(console);
        if (layer < 0) return result(*run.trace, analyze::mixing_table(*run.trace, run.loaded.cancel, console.progress()));
        Result found =
            result(*run.trace, analyze::mix_table(*run.trace, Layer(layer), head_of(head), writes_arrays(), run.loaded.cancel));
        found.fact("layer", layer);
        if (head >= 0) found.fact("head", head);
        return found;
    }
};

}  // namespace

Action define_analyze_value_mix(Definition& definition, const Frontend&) {
    return define_analysis<ValueMixCommand>(definition, kRun | kImage | kAttention);
}

}  // namespace headlight::cli
