// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/detector.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"

namespace headlight::cli {
namespace {

struct DetectCommand : Analysis {
    std::string kind, measure = "mul";
    analyze::DetectorOptions options;

    void add(Definition& definition) {
        definition.add_choice("--kind", kind, {"previous-token", "duplicate-token", "induction"}, "the kind of head to look for")
            ->required();
        definition.add_choice("--measure", measure, {"mul", "abs"},
                              "mul: share of the attention that fits; abs: 1 minus the mean difference");
        definition.app->add_flag("--exclude-first", options.exclude_first, "without attention to the first token");
        definition.app->add_flag("--exclude-current", options.exclude_current, "without attention of tokens to themselves");
    }

    Result run(const Console& console) const {
        using analyze::HeadKind;
        const HeadKind wanted = kind == "induction"         ? HeadKind::induction
                                : kind == "duplicate-token" ? HeadKind::duplicate_token
                                                            : HeadKind::previous_token;
        analyze::DetectorOptions asked = options;
        asked.measure = measure == "abs" ? analyze::DetectorMeasure::abs : analyze::DetectorMeasure::mul;
        const auto trace = attention.of(
            open_or_run(model, text, compute, {.globs = {"*.hook_pattern"}, .overview = trace::no_overview}, console));
        const Eigen::MatrixXd scores = analyze::detector_scores(*trace, wanted, asked);
        analyze::Table table{{"layer", "head", "score"}, {}};
        table.definitions = {{"score", measure == "abs"
                                           ? "1 - mean over all queries of sum_j |a_ij - d_ij|, d the pattern of such a head."
                                           : "Share of the attention of all queries that is where such a head has it."}};
        for (Eigen::Index layer = 0; layer < scores.rows(); ++layer)
            for (Eigen::Index head = 0; head < scores.cols(); ++head)
                table.add({std::int64_t{layer}, std::int64_t{head}, scores(layer, head)});
        Result found = result(*trace, std::move(table));
        found.fact("kind", kind).fact("measure", measure).fact("exclude_first", options.exclude_first);
        return std::move(found.fact("exclude_current", options.exclude_current));
    }
};

}  // namespace

Action define_analyze_detect(Definition& definition, const Frontend&) {
    return define_analysis<DetectCommand>(definition, kRun | kImage | kAttention);
}

}  // namespace headlight::cli
