// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/contributions.h"
#include "cli/analyze/analyses.h"
#include "cli/analyze/token_argument.h"
#include "cli/result_file.h"
#include "cli/run_text.h"

namespace headlight::cli {
namespace {

struct ContributionsArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t position = 0;
    double threshold = 0.04;
    bool keep_sizes = false;
};

int contributions(const ContributionsArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto trace = run_loaded(loaded, {}, console);
    const analyze::ContributionGraph graph = analyze::contribution_graph(
        *trace, Position(o.position), {.threshold = o.threshold, .renormalise = !o.keep_sizes, .from_layer = 0}, loaded.cancel,
        console.progress());
    console.clear_progress();
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    result.facts.emplace_back("position", std::to_string(o.position));
    result.facts.emplace_back("threshold", std::to_string(o.threshold));
    result.facts.emplace_back("renormalised", o.keep_sizes ? "no" : "yes");
    result.table.columns = {"layer", "kind", "from", "to", "head", "contribution"};
    result.definitions = {{"kind", "attention, residual (past the attention), mlp, mlp_residual (past the MLP)"},
                          {"head", "of an attention edge; empty: the sum over its heads"},
                          {"contribution", "max(|w| - |w - part|, 1e-5) by L1 norms, over the sum of all parts of w"}};
    const bool two = graph.source_layers > 0;
    if (two) {
        result.table.columns.insert(result.table.columns.begin(), "stack");
        result.definitions[0].second +=
            ", cross (from the encoder's last state of a source token), cross_residual (past the cross attention)";
        result.definitions.emplace_back("stack",
                                        "whose layer and positions they are; of a cross edge `from` is a position of the source");
    }
    for (const analyze::ContributionEdge& edge : graph.edges) {
        const std::string kind = analyze::name_of(edge.kind);
        const auto add = [&](figure::Table::Cell head, double weight) {
            auto& row = result.table.rows.emplace_back();
            if (two) row.emplace_back(std::string(edge.in_encoder ? "encoder" : "decoder"));
            for (figure::Table::Cell cell :
                 std::initializer_list<figure::Table::Cell>{edge.layer, kind, edge.from, edge.to, std::move(head), weight})
                row.push_back(std::move(cell));
        };
        add(figure::Table::Cell(), edge.weight);
        for (const auto& [head, weight] : edge.heads) add(head, weight);
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_contributions(Definition& definition, const Frontend&) {
    auto o = std::make_shared<ContributionsArguments>();
    o->model.add(definition);
    o->text.add(definition);
    o->text.add_image(definition);
    add_index(definition, "--position", o->position, "the token whose last state is followed back, from 0")->required();
    definition.app->add_option("--threshold", o->threshold, "parts below this share are dropped")
        ->type_name("X")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 1.0));
    definition.app->add_flag("--keep-sizes", o->keep_sizes, "do not bring what stays to a sum of 1 again");
    o->out.add(definition);
    o->compute.add(definition);
    return [o, console = definition.console] { return contributions(*o, *console); };
}

}  // namespace headlight::cli
