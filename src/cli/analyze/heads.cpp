// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/analyze/head_table.h"

namespace headlight::cli {
namespace {

struct Options {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
};

int heads(const Options& o, const Console& console) {
    o.out.check();
    const auto trace = run_loaded(load_for_run(o.model, o.text, o.compute, console), {}, console);
    const analyze::HeadTable measured = analyze::head_table(*trace);
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.table.columns = {"layer", "head"};
    for (const analyze::MeasureInfo& measure : measured.measures) {
        result.table.columns.push_back(measure.id);
        result.definitions.emplace_back(measure.id, measure.definition);
    }
    for (std::int64_t layer = 0; layer < measured.n_layers; ++layer)
        for (std::int64_t head = 0; head < measured.n_heads; ++head) {
            auto& row = result.table.rows.emplace_back();
            row.emplace_back(layer);
            row.emplace_back(head);
            for (const Eigen::MatrixXd& values : measured.values) row.emplace_back(values(layer, head));
        }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_heads(Definition& definition, const Frontend&) {
    auto options = std::make_shared<Options>();
    options->model.add(definition);
    options->text.add(definition);
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return heads(*options, *console); };
}

}  // namespace headlight::cli
