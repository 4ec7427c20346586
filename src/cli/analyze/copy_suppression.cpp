// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/copy_suppression.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct CopySuppressionCommand : Analysis {
    std::int64_t layer = -1, head = -1;
    analyze::CopySuppressionRequest asked;

    void add(Definition& definition) {
        add_index(definition, "--layer", layer, "with --head: only this head");
        add_index(definition, "--head", head, "with --layer: only this head");
        add_fields(definition, asked);
    }

    Result run(const Console& console) const {
        if ((layer < 0) != (head < 0)) throw UsageError("--layer and --head name one head: give both or none");
        require_relevant(*cli_app, asked);
        const Run run = run_text(console);
        const analyze::CopySuppressionOptions options = asked.options(run.trace->across_texts());
        const trace::Trace& stream = options.of_source ? *run.whole : *run.trace;
        const auto only = layer < 0 ? std::nullopt : std::optional(HeadId{Layer(layer), Head(head)});
        analyze::Table table =
            asked.explained
                ? explained_table(stream, only, options, run.loaded.cancel, console.progress())
                : analyze::table_of(analyze::suppressed_pairs(stream, only, options, run.loaded.cancel, console.progress()),
                                    *run.trace);
        Result found = result(asked.explained ? stream : *run.trace, std::move(table));
        found.fact("threshold", options.threshold);
        if (asked.explained) found.fact("kept_share", options.kept_share);
        return found;
    }

    static analyze::Table explained_table(const trace::Trace& trace, std::optional<HeadId> only,
                                          const analyze::CopySuppressionOptions& options, const CancelToken& cancel,
                                          const Progress& progress) {
        const model::ModelConfig& c = trace.config();
        std::vector<analyze::SuppressionExplained> heads;
        for (std::int64_t i = 0; i < c.n_layers * c.n_heads; ++i) {
            const HeadId id{Layer(i / c.n_heads), Head(i % c.n_heads)};
            if (only && *only != id) continue;
            if (progress) progress({"Ablating", "head", i, c.n_layers * c.n_heads});
            heads.push_back(analyze::suppression_explained(trace, id, options, cancel));
        }
        return analyze::table_of(heads);
    }
};

}  // namespace

Action define_analyze_copy_suppression(Definition& definition, const Frontend&) {
    return define_analysis<CopySuppressionCommand>(definition, kRun | kUnedited | kAttention);
}

}  // namespace headlight::cli
