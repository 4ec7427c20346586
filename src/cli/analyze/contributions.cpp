// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/contributions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct ContributionsCommand : Analysis {
    std::int64_t position = 0;
    double threshold = 0.04;
    bool keep_sizes = false;

    void add(Definition& definition) {
        add_index(definition, kPosition, position, "the token whose last state is followed back, from 0")->required();
        add_share(definition, "--threshold", threshold, "parts below this share are dropped");
        definition.app->add_flag("--keep-sizes", keep_sizes, "do not renormalise the remaining parts to sum to 1");
    }

    Result run(const Console& console) const {
        const Run run = run_text(console);
        const analyze::ContributionGraph graph =
            analyze::contribution_graph(*run.trace, Position(position), {.threshold = threshold, .renormalise = !keep_sizes},
                                        run.loaded.cancel, console.progress());
        Result found = result(*run.trace, analyze::table_of(graph, *run.trace));
        found.fact("position", position).fact("threshold", threshold);
        return std::move(found.fact("renormalised", !keep_sizes));
    }
};

}  // namespace

Action define_analyze_contributions(Definition& definition, const Frontend&) {
    return define_analysis<ContributionsCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
