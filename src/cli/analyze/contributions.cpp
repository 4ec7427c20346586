// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/contributions.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct ContributionsCommand : Analysis {
    std::int64_t position = 0;
    analyze::ContributionRequest asked;
    CLI::Option* at = nullptr;

    void add(Definition& definition) {
        at =
            add_index(definition, kPosition, position, "the token whose last state is followed back, from 0 (default: the last)");
        add_fields(definition, asked);
    }

    Result run(const Console& console) const {
        const Run run = run_text(console);
        const Position p(at->count() > 0 ? position : run.trace->tokens() - 1);
        const analyze::ContributionGraph graph =
            analyze::contribution_graph(*run.trace, p, {.threshold = asked.least_share, .renormalise = !asked.keep_sizes},
                                        run.loaded.cancel, console.progress());
        Result found = result(*run.trace, analyze::table_of(graph, *run.trace));
        found.fact("position", p.value).fact("threshold", asked.least_share);
        return std::move(found.fact("renormalised", !asked.keep_sizes));
    }
};

}  // namespace

Action define_analyze_contributions(Definition& definition, const Frontend&) {
    return define_analysis<ContributionsCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
