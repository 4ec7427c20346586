// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/analyze/analyses.h"
#include "cli/open_or_run.h"
#include "cli/result_file.h"
#include "cli/text_list.h"
#include "cli/where.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"

namespace headlight::cli {
namespace {

struct HeadsArguments {
    ModelArgument model;
    TextArguments text;
    TextList texts;
    ComputeOptions compute;
    ResultFile out;
    AttentionArgument attention;
    bool include_first_row = false;
    std::string where, sort;
    bool ascending = false;
};

/// What the measures are made of, and no more: long texts fit.
trace::CapturePlan plan() { return {.globs = {"*.hook_pattern", "*.hook_z", "*.hook_resid_pre"}, .overview = true}; }

analyze::HeadTable of_texts(const HeadsArguments& o, std::vector<std::pair<std::string, std::string>>& facts,
                            const Console& console) {
    const std::vector<TextList::Line> lines = o.texts.lines();
    Loaded loaded = load_model(o.model, o.compute, console);
    analyze::HeadAverages averages({.with_first_row = o.include_first_row});
    for (const TextList::Line& line : lines) {
        loaded.prompt = {.text = line.text};
        o.texts.naming(line, [&] { averages.add(*run_loaded(loaded, plan(), console)); });
    }
    facts = facts_of(*loaded.model);
    facts.emplace_back("dtype", o.compute.dtype);
    facts.emplace_back("texts", o.texts.path);
    facts.emplace_back("documents", std::to_string(lines.size()));
    return averages.table();
}

/// The rows: heads that --where keeps, in the order of --sort. Attention that --where speaks of becomes a column.
std::vector<HeadId> rows_of(const HeadsArguments& o, const trace::Trace* trace, analyze::HeadTable& measured) {
    analyze::HeadQuery query;
    if (!o.where.empty()) query = read_where(o.where, measured, trace);
    if (trace) query.measure(*trace, interruptible());
    measured = query.with_terms(measured);
    if (o.sort.empty()) return analyze::ranked_heads(measured, query, "layer", true);
    return analyze::ranked_heads(measured, query, read_sort(o.sort, measured), o.ascending);
}

int heads(const HeadsArguments& o, const Console& console) {
    o.out.check();
    if (o.texts.given() && o.attention.given()) throw UsageError("--attention: pooled texts have no target to look from");
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = {}};
    analyze::HeadTable measured;
    std::vector<HeadId> rows;
    if (o.texts.given()) {
        measured = of_texts(o, result.facts, console);
        rows = rows_of(o, nullptr, measured);
    } else {
        // A question may be about any pair of tokens, and lengths of values: all that the window keeps.
        trace::CapturePlan kept = o.where.empty() ? plan() : trace::CapturePlan{};
        if (o.attention.word == "cross" && o.where.empty()) kept.globs.emplace_back("*.hook_resid_mid");  // the stream before it
        const auto run = open_or_run(o.model, o.text, o.compute, kept, console);
        const auto trace = o.attention.of(run);
        if (o.attention.given()) result.facts.emplace_back("attention", o.attention.word);
        measured = analyze::head_table(*trace, {.with_first_row = o.include_first_row});
        rows = rows_of(o, trace.get(), measured);
        for (auto& fact : facts_of(*trace)) result.facts.push_back(std::move(fact));
    }
    if (!o.where.empty()) result.facts.emplace_back("where", o.where);
    if (!o.sort.empty()) result.facts.emplace_back("sort", o.sort + (o.ascending ? ", ascending" : ""));
    if (rows.empty()) console.note("no head matches " + o.where);
    result.facts.emplace_back("first_row_of_causal_models", o.include_first_row ? "included" : "left out");
    result.table.columns = {"layer", "head"};
    for (const analyze::MeasureInfo& measure : measured.measures) {
        result.table.columns.push_back(measure.id);
        result.definitions.emplace_back(measure.id, measure.definition);
    }
    result.table.columns.emplace_back("kv_head");
    result.definitions.emplace_back("kv_head", "The key/value head that this query head reads.");
    const std::int64_t group = measured.n_heads / std::max<std::int64_t>(1, measured.n_kv_heads);
    for (const HeadId id : rows) {
        const std::int64_t layer = id.layer.value, head = id.head.value;
        auto& row = result.table.rows.emplace_back();
        row.emplace_back(layer);
        row.emplace_back(head);
        for (const Eigen::MatrixXd& values : measured.values) row.emplace_back(values(layer, head));
        row.emplace_back(head / group);
    }
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_heads(Definition& definition, const Frontend&) {
    auto options = std::make_shared<HeadsArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    options->texts.add(definition, options->text);
    options->attention.add(definition);
    definition.app->add_flag("--include-first-row", options->include_first_row,
                             "causal models: the first token counts in the means, though it can only look at itself");
    definition.app->add_option("--where", options->where, "only heads that match: \"entropy < 1 and mean distance < 2\"")
        ->type_name("EXPR");
    CLI::Option* sort =
        definition.app->add_option("--sort", options->sort, "by this measure, largest first (default: by layer and head)");
    sort->type_name("MEASURE");
    definition.app->add_flag("--ascending", options->ascending, "with --sort: smallest first")->needs(sort);
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return heads(*options, *console); };
}

}  // namespace headlight::cli
