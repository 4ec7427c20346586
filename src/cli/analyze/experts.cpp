// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/experts.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

#include <algorithm>

namespace headlight::cli {
namespace {

struct ExpertsCommand : Analysis {
    std::int64_t layer = -1;

    void add(Definition& definition) { add_index(definition, "--layer", layer, "only this layer, from 0"); }

    Result run(const Console& console) const {
        const auto trace = run_text(console).trace;
        std::vector<Layer> layers = analyze::layers_with_experts(trace->config());
        if (layer >= 0 || layers.empty()) layers = {Layer(std::max<std::int64_t>(0, layer))};  // the error names what there is
        std::vector<analyze::ExpertUse> uses;
        for (const Layer each : layers) uses.push_back(analyze::expert_use(*trace, each));
        return result(*trace, analyze::table_of(uses, *trace));
    }
};

}  // namespace

Action define_analyze_experts(Definition& definition, const Frontend&) {
    return define_analysis<ExpertsCommand>(definition, kRun);
}

}  // namespace headlight::cli
