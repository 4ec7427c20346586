// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/sparsity/sparsity.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "cli/fields.h"

namespace headlight::cli {
namespace {

struct SparsityCommand : Analysis {
    analyze::SparsityOptions options;

    void add(Definition& definition) { add_fields(definition, options); }

    Result run(const Console& console) const {
        check(options);
        require_relevant(*cli_app, options);
        const Run run = run_text(console, {.globs = {"*.hook_pattern"}, .overview = trace::no_overview});
        Result found =
            result(*run.trace,
                   table_of(*analyze::sparsity(*run.trace, options, writes_arrays(), run.loaded.cancel, console.progress())));
        add_facts(found, options);
        return found;
    }
};

}  // namespace

Action define_analyze_sparsity(Definition& definition, const Frontend&) {
    return define_analysis<SparsityCommand>(definition, kRun | kAttention);
}

}  // namespace headlight::cli
