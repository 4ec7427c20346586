// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/focus/focus.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

#include <array>

namespace headlight::cli {
namespace {

struct FocusCommand : Analysis {
    std::int64_t layer = 0, head = 0, sort_idx = 0;
    bool all_targets = false;
    analyze::FocusOptions focus;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "the layer, from 0")->required();
        add_index(definition, "--head", head, "the head, from 0")->required();
        CLI::Option* rank =
            add_index(definition, analyze::kSortIdx.option(), sort_idx, std::string(analyze::kSortIdx.help) + " (default: 0)");
        definition.app->add_flag("--all-targets", all_targets, "every target of every query")->excludes(rank);
        add_fields(definition, focus);
    }

    Result run(const Console& console) const {
        const Run run = run_text(console);
        const HeadId id{Layer(layer), Head(head)};
        const analyze::FocusFacts about = analyze::focus_facts(*run.trace, id, focus);
        Result found = result(
            *run.trace, all_targets
                            ? analyze::focus_table(*run.trace, id, focus, writes_arrays(), run.loaded.cancel, console.progress())
                            : analyze::table_of(analyze::focus_breakdown(std::array{run.trace}, id, sort_idx, focus,
                                                                         run.loaded.cancel, console.progress()),
                                                run.trace->labels()));
        console.clear_progress();
        found.fact("layer", layer).fact("head", head);
        found.fact("targets", all_targets ? "all" : "sort_idx " + std::to_string(sort_idx));
        found.fact("position", about.position_kind).notes(about.notes, console);
        return found;
    }
};

}  // namespace

Action define_analyze_focus(Definition& definition, const Frontend&) {
    return define_analysis<FocusCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
