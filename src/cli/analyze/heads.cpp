// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/head_table.h"

#include "cli/analyze/analyses.h"
#include "cli/analyze/analysis.h"
#include "cli/text_list.h"
#include "cli/where.h"

#include <algorithm>

namespace headlight::cli {
namespace {

/// What the measures are made of, and no more: long texts fit.
trace::CapturePlan measured_hooks() {
    return {.globs = {"*.hook_pattern", "*.hook_z", "*.hook_resid_pre"}, .overview = {.pooled = false}};
}

struct HeadsCommand : Analysis {
    TextList texts;
    bool include_first_row = false, ascending = false, probe = false;
    std::string where, sort;

    void add(Definition& definition) {
        texts.add(definition, text);
        attention.add(definition);
        definition.app->add_flag("--include-first-row", include_first_row,
                                 "causal models: include the first token in the means, although it can only attend to itself");
        add_value(definition, "--where", where, "only heads that match: \"entropy < 1 and mean distance < 2\"", "EXPR");
        CLI::Option* by =
            add_value(definition, "--sort", sort, "by this measure, largest first (default: by layer and head)", "MEASURE");
        definition.app->add_flag(
            "--probe", probe,
            "run the random-token probe as well, for the columns probe_...; --where and --sort by them do so "
            "unasked");
        definition.app->add_flag("--ascending", ascending, "with --sort: smallest first")->needs(by);
    }

    Result run(const Console& console) const {
        if (texts.given() && attention.given()) throw UsageError("--attention: several texts have no target to look from");
        Result found;
        analyze::HeadTable measured;
        std::vector<HeadId> rows;
        if (texts.given()) {
            const Loaded loaded = load_weights(console);
            measured = of_texts(loaded, found, console);
            rows = rows_of(nullptr, loaded.model, loaded.tokenizer, measured, console);
        } else {
            // A question may be about any pair of tokens, and lengths of values: all that the window keeps.
            trace::CapturePlan kept = where.empty() ? measured_hooks() : trace::CapturePlan{};
            if (attention.word == "cross" && where.empty()) kept.globs.emplace_back("*.hook_resid_mid");  // the stream before it
            const auto trace = attention.of(open_or_run(model, text, compute, kept, console));
            if (attention.given()) found.fact("attention", attention.word);
            measured = analyze::head_table(*trace, {.with_first_row = include_first_row});
            rows = rows_of(trace.get(), trace->model(), trace->tokenizer(), measured, console);
            for (auto& fact : facts_of(*trace)) found.facts.push_back(std::move(fact));
        }
        if (!where.empty()) found.fact("where", where);
        if (!sort.empty()) found.fact("sort", sort + (ascending ? ", ascending" : ""));
        if (rows.empty()) console.note("no head matches " + where);
        found.fact("first_row_of_causal_models", include_first_row ? "included" : "left out");
        fill(found.table, measured, rows);
        return found;
    }

    analyze::HeadTable of_texts(Loaded loaded, Result& found, const Console& console) const {
        const std::vector<TextList::Line> lines = texts.lines();
        analyze::HeadAverages averages({.with_first_row = include_first_row});
        for (const TextList::Line& line : lines) {
            loaded.prompt = {.text = line.text};
            texts.naming(line, [&] { averages.add(*run_loaded(loaded, measured_hooks(), console)); });
        }
        found.facts = facts_of(*loaded.model);
        found.fact("dtype", compute.dtype).fact("texts", texts.path).fact("documents", std::ssize(lines));
        return averages.table();
    }

    /// Heads that --where keeps, in the order of --sort. Attention that --where asks about becomes a column.
    std::vector<HeadId> rows_of(const trace::Trace* trace, const std::shared_ptr<const model::Model>& weights,
                                const std::shared_ptr<const text::Tokenizer>& tokenizer, analyze::HeadTable& measured,
                                const Console& console) const {
        analyze::HeadQuery query;
        if (!where.empty()) query = read_where(where, measured, trace).query;
        if (trace) query.measure(*trace, interruptible());
        std::vector<std::string> asked = query.measures();
        if (!sort.empty()) asked.push_back(read_sort(sort, query.with_terms(measured)));
        if (probe) asked.emplace_back("probe_induction");
        probe_if_asked(asked, weights, tokenizer, measured, console);
        measured = query.with_terms(measured);
        if (sort.empty()) return analyze::ranked_heads(measured, query, "layer", true);
        return analyze::ranked_heads(measured, query, read_sort(sort, measured), ascending);
    }

    static void fill(analyze::Table& table, const analyze::HeadTable& measured, const std::vector<HeadId>& rows) {
        table.columns = {"layer", "head"};
        for (const analyze::MeasureInfo& measure : measured.measures) {
            table.columns.push_back(measure.id);
            table.definitions.emplace_back(measure.id, measure.definition);
        }
        table.columns.emplace_back("kv_head");
        table.definitions.emplace_back("kv_head", "The key/value head that this query head reads.");
        const std::int64_t group = measured.n_heads / std::max<std::int64_t>(1, measured.n_kv_heads);
        for (const HeadId id : rows) {
            std::vector<analyze::Table::Cell> row{id.layer.value, id.head.value};
            for (const Eigen::MatrixXd& values : measured.values) row.emplace_back(values(id.layer.value, id.head.value));
            row.emplace_back(id.head.value / group);
            table.add(std::move(row));
        }
    }
};

}  // namespace

Action define_analyze_heads(Definition& definition, const Frontend&) {
    return define_analysis<HeadsCommand>(definition, kRun | kImage);
}

}  // namespace headlight::cli
