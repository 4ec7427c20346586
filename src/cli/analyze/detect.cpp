// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "headlight/analyze/heads/detector.h"

namespace headlight::cli {
namespace {

struct DetectArguments {
    ModelArgument model;
    TextArguments text;
    AttentionArgument attention;
    std::string kind, measure = "mul";
    analyze::DetectorOptions detector;
    ComputeOptions compute;
    ResultFile out;
};

int detect(const DetectArguments& o, const Console& console) {
    using analyze::HeadKind;
    o.out.check();
    const HeadKind kind = o.kind == "induction"         ? HeadKind::induction
                          : o.kind == "duplicate-token" ? HeadKind::duplicate_token
                                                        : HeadKind::previous_token;
    analyze::DetectorOptions options = o.detector;
    options.measure = o.measure == "abs" ? analyze::DetectorMeasure::abs : analyze::DetectorMeasure::mul;
    const auto run = open_or_run(o.model, o.text, o.compute, {.globs = {"*.hook_pattern"}, .overview = false}, console);
    const auto trace = o.attention.of(run);
    const Eigen::MatrixXd scores = analyze::detector_scores(*trace, kind, options);
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    if (o.attention.given()) result.facts.emplace_back("attention", o.attention.word);
    result.facts.emplace_back("kind", o.kind);
    result.facts.emplace_back("measure", o.measure);
    result.facts.emplace_back("exclude_first", options.exclude_first ? "yes" : "no");
    result.facts.emplace_back("exclude_current", options.exclude_current ? "yes" : "no");
    result.definitions = {{"score", o.measure == "abs"
                                        ? "1 - mean over all queries of sum_j |a_ij - d_ij|, d the pattern of such a head."
                                        : "Share of the attention of all queries that is where such a head has it."}};
    result.table.columns = {"layer", "head", "score"};
    for (Eigen::Index layer = 0; layer < scores.rows(); ++layer)
        for (Eigen::Index head = 0; head < scores.cols(); ++head)
            result.table.rows.push_back({std::int64_t{layer}, std::int64_t{head}, scores(layer, head)});
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_detect(Definition& definition, const Frontend&) {
    auto options = std::make_shared<DetectArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->attention.add(definition);
    definition
        .add_choice("--kind", options->kind, {"previous-token", "duplicate-token", "induction"},
                    "the kind of head that is looked for")
        ->required();
    definition.add_choice("--measure", options->measure, {"mul", "abs"},
                          "mul: share of the attention that fits; abs: 1 minus the mean difference");
    definition.app->add_flag("--exclude-first", options->detector.exclude_first, "without attention to the first token");
    definition.app->add_flag("--exclude-current", options->detector.exclude_current, "without attention of tokens to themselves");
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return detect(*options, *console); };
}

}  // namespace headlight::cli
