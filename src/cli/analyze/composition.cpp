// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/composition.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct CompositionCommand : Analysis {
    analyze::CompositionRequest asked;

    void add(Definition& definition) { add_fields(definition, asked); }

    Result run(const Console& console) const {
        const Weights weights = load_model_alone(console);
        const auto scores = analyze::composition_scores(*weights.model, asked.fold_norms, weights.cancel, console.progress());
        Result found{.table = analyze::table_of(analyze::composed_pairs(scores)), .facts = facts_of(*weights.model)};
        add_facts(found, asked);
        return found;
    }
};

}  // namespace

Action define_analyze_composition(Definition& definition, const Frontend&) {
    return define_analysis<CompositionCommand>(definition, kWeights);
}

}  // namespace headlight::cli
