// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/induction_probe.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct InductionCommand : Analysis {
    analyze::ProbeOptions probe;

    void add(Definition& definition) {
        add_count(definition, "--n", probe.n, "random tokens in a sequence, which are repeated once", 2, 1'000'000);
        add_count(definition, "--batch", probe.batch, "sequences; the scores are means over them", 1, 100'000);
        add_seed(definition, probe.seed, "which random tokens: the same seed draws the same");
    }

    Result run(const Console& console) const {
        const Loaded loaded = load_weights(console);
        const analyze::InductionProbe found =
            analyze::induction_probe(loaded.model, loaded.tokenizer, probe, loaded.cancel, console.progress());
        Result out{.table = table_of(found), .facts = facts_of(*loaded.model)};
        out.fact("dtype", compute.dtype).fact("n", probe.n).fact("batch", probe.batch);
        return std::move(out.fact("seed", probe.seed));
    }

    analyze::Table table_of(const analyze::InductionProbe& found) const {
        const std::string masked = "Every fifth token of the second copy masked: mean over the masks of the weight on ";
        struct Column {
            const char* name;
            const Eigen::MatrixXd* values;
            std::string definition;
        };
        std::vector<Column> columns = {
            {"probe_induction", &found.induction,
             "Mean over the second copy of a_q,q-(n-1): the weight on what followed the token the first time (Olsson 2022)."},
            {"probe_previous", &found.previous, "Mean over both copies of a_q,q-1."},
            {"probe_duplicate", &found.duplicate,
             "Mean over the second copy of a_q,q-n: the weight on the same token in the first copy."}};
        if (found.masked_copy.size() > 0) {
            columns.push_back({"probe_masked_copy", &found.masked_copy, masked + "the hidden token's place in the first copy."});
            columns.push_back({"probe_masked_before", &found.masked_before, masked + "the place before it."});
            columns.push_back({"probe_masked_after", &found.masked_after, masked + "the place after it."});
        }
        analyze::Table table{{"layer", "head"}, {}};
        for (const Column& column : columns) {
            table.columns.emplace_back(column.name);
            table.definitions.emplace_back(column.name, column.definition);
        }
        table.definitions.emplace_back("ids", "The n random tokens of each sequence, which were repeated once.");
        for (Eigen::Index layer = 0; layer < found.induction.rows(); ++layer)
            for (Eigen::Index head = 0; head < found.induction.cols(); ++head) {
                std::vector<analyze::Table::Cell> row{std::int64_t{layer}, std::int64_t{head}};
                for (const Column& column : columns) row.emplace_back((*column.values)(layer, head));
                table.add(std::move(row));
            }
        analyze::NamedArray ids{"ids", {probe.batch, probe.n}, {}};
        for (const auto& sequence : found.ids)
            for (const std::int64_t id : sequence) ids.integers.push_back(id);
        table.arrays.push_back(std::move(ids));
        return table;
    }
};

}  // namespace

Action define_analyze_induction(Definition& definition, const Frontend&) {
    return define_analysis<InductionCommand>(definition, kWeights);
}

}  // namespace headlight::cli
