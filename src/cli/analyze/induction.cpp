// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/heads/induction_probe.h"

#include <tuple>

namespace headlight::cli {
namespace {

struct InductionArguments {
    ModelArgument model;
    analyze::ProbeOptions probe;
    ComputeOptions compute;
    ResultFile out;
};

int induction(const InductionArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_model(o.model, o.compute, console);
    const analyze::InductionProbe probe =
        analyze::induction_probe(loaded.model, loaded.tokenizer, o.probe, loaded.cancel, console.progress());
    console.clear_progress();
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*loaded.model)};
    result.facts.emplace_back("dtype", o.compute.dtype);
    result.facts.emplace_back("n", std::to_string(o.probe.n));
    result.facts.emplace_back("batch", std::to_string(o.probe.batch));
    result.facts.emplace_back("seed", std::to_string(o.probe.seed));
    result.definitions = {
        {"probe_induction",
         "Mean over the second copy of a_q,q-(n-1): the weight on what followed the token the first time (Olsson "
         "2022)."},
        {"probe_previous", "Mean over both copies of a_q,q-1."},
        {"probe_duplicate", "Mean over the second copy of a_q,q-n: the weight on the same token in the first copy."},
        {"ids", "The n random tokens of each sequence, which were repeated once."}};
    result.table.columns = {"layer", "head", "probe_induction", "probe_previous", "probe_duplicate"};
    std::vector<const Eigen::MatrixXd*> columns = {&probe.induction, &probe.previous, &probe.duplicate};
    if (probe.masked_copy.size() > 0) {
        const std::string masked = "Every fifth token of the second copy masked: mean over the masks of the weight on ";
        for (const auto& [name, values, place] :
             {std::tuple("probe_masked_copy", &probe.masked_copy, "the hidden token's place in the first copy."),
              std::tuple("probe_masked_before", &probe.masked_before, "the place before it."),
              std::tuple("probe_masked_after", &probe.masked_after, "the place after it.")}) {
            result.table.columns.emplace_back(name);
            result.definitions.emplace_back(name, masked + place);
            columns.push_back(values);
        }
    }
    for (Eigen::Index layer = 0; layer < probe.induction.rows(); ++layer)
        for (Eigen::Index head = 0; head < probe.induction.cols(); ++head) {
            auto& row = result.table.rows.emplace_back();
            row.emplace_back(std::int64_t{layer});
            row.emplace_back(std::int64_t{head});
            for (const Eigen::MatrixXd* scores : columns) row.emplace_back((*scores)(layer, head));
        }
    figure::NamedArray ids{"ids", {o.probe.batch, o.probe.n}, {}};
    for (const auto& sequence : probe.ids)
        for (const std::int64_t id : sequence) ids.values.push_back(static_cast<float>(id));
    result.arrays.push_back(std::move(ids));
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_induction(Definition& definition, const Frontend&) {
    auto options = std::make_shared<InductionArguments>();
    options->model.add(definition);
    CLI::App& app = *definition.app;
    app.add_option("--n", options->probe.n, "random tokens in a sequence, which are repeated once")
        ->type_name("N")
        ->check(CLI::Range(2, 1'000'000))
        ->capture_default_str();
    app.add_option("--batch", options->probe.batch, "sequences; the scores are means over them")
        ->type_name("N")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    app.add_option("--seed", options->probe.seed, "which random tokens: the same seed draws the same")
        ->type_name("N")
        ->capture_default_str();
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return induction(*options, *console); };
}

}  // namespace headlight::cli
