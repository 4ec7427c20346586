// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/columns.h"
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
        const auto score = [](const Eigen::MatrixXd& values) {
            return [&](HeadId id) { return values(id.layer.value, id.head.value); };
        };
        const bool with_masks = found.masked_copy.size() > 0;
        std::vector<HeadId> heads;
        for (Eigen::Index layer = 0; layer < found.induction.rows(); ++layer)
            for (Eigen::Index head = 0; head < found.induction.cols(); ++head) heads.push_back({Layer(layer), Head(head)});
        analyze::Table table = analyze::Columns<HeadId>{
            {"layer", &HeadId::layer},
            {"head", &HeadId::head},
            {"probe_induction", score(found.induction),
             "Mean over the second copy of a_q,q-(n-1): the weight on what followed the token the first time (Olsson 2022)."},
            {"probe_previous", score(found.previous), "Mean over both copies of a_q,q-1."},
            {"probe_duplicate", score(found.duplicate),
             "Mean over the second copy of a_q,q-n: the weight on the same token in the first copy."},
            {"probe_masked_copy", score(found.masked_copy), masked + "the hidden token's place in the first copy.", with_masks},
            {"probe_masked_before", score(found.masked_before), masked + "the place before it.", with_masks},
            {"probe_masked_after", score(found.masked_after), masked + "the place after it.",
             with_masks}}.table(heads);
        table.definitions.emplace_back("ids", "The n random tokens of each sequence, which were repeated once.");
        analyze::NamedArray tokens{"ids", {probe.batch, probe.n}, {}};
        for (const auto& sequence : found.ids)
            for (const std::int64_t id : sequence) tokens.integers.push_back(id);
        table.arrays.push_back(std::move(tokens));
        return table;
    }
};

}  // namespace

Action define_analyze_induction(Definition& definition, const Frontend&) {
    return define_analysis<InductionCommand>(definition, kWeights);
}

}  // namespace headlight::cli
