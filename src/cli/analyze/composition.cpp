// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/composition.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct CompositionCommand : Analysis {
    bool fold = false;

    void add(Definition& definition) {
        definition.app->add_flag("--fold-norms", fold, "multiply the norms' gains (and centring) into the matrices");
    }

    Result run(const Console& console) const {
        const Weights weights = load_model_alone(console);
        const auto scores = analyze::composition_scores(*weights.model, fold, weights.cancel, console.progress());
        Result found{.table = analyze::table_of(analyze::composed_pairs(scores)), .facts = facts_of(*weights.model)};
        return std::move(found.fact("fold_norms", fold));
    }
};

}  // namespace

Action define_analyze_composition(Definition& definition, const Frontend&) {
    return define_analysis<CompositionCommand>(definition, kWeights);
}

}  // namespace headlight::cli
