// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/reach/reach.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct ReachCommand : Analysis {
    std::string passage;
    std::int64_t moved = 0, layer = -1, head = -1;

    void add(Definition& definition) {
        add_value(definition, "--passage", passage, std::string(analyze::kPassage.help), "PASSAGE");
        add_count(definition, "--moved", moved, "with --layer and --head: list the N pairs of tokens that the head moves most", 0,
                  1'000'000);
        add_index(definition, "--layer", layer, "of --moved");
        add_index(definition, "--head", head, "of --moved");
    }

    Result run(const Console& console) const {
        if (moved > 0 && (layer < 0 || head < 0)) throw UsageError("--moved needs --layer and --head");
        if (moved > 0 && !passage.empty()) throw UsageError("--moved lists pairs of the whole text: leave --passage out");
        if (moved == 0 && (layer >= 0 || head >= 0)) throw UsageError("--layer and --head name the head of --moved");
        const Run run = run_text(console, {.globs = {"*.hook_pattern", "*.attn.hook_v"}, .overview = trace::no_overview});
        const trace::Trace& trace = *run.trace;
        std::optional<analyze::Passage> marked;
        if (!passage.empty()) marked = analyze::passage_called(trace, passage);
        Result found;
        if (moved > 0) {
            const HeadId id{Layer(layer), Head(head)};
            const analyze::Passage all{Position(0), Position(trace.tokens() - 1)};
            found = result(trace, table_of(trace, id, moved_tokens(trace, id, all, moved, run.loaded.cancel)));
        } else {
            found = result(trace, table_of(*analyze::reach(trace, marked, run.loaded.cancel, console.progress())));
        }
        if (marked) found.fact("passage", std::to_string(marked->first.value) + "-" + std::to_string(marked->last.value));
        return found;
    }
};

}  // namespace

Action define_analyze_reach(Definition& definition, const Frontend&) {
    return define_analysis<ReachCommand>(definition, kRun | kAttention);
}

}  // namespace headlight::cli
