// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/focus/focus.h"
#include "cli/analyze/analyses.h"
#include "cli/result_file.h"
#include "cli/run_text.h"
#include "headlight/base/error.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

namespace headlight::cli {
namespace {

/// Rows of a table take some 400 bytes each; longer texts get arrays.
constexpr std::int64_t most_focus_rows = 2'100'000;

struct FocusArguments {
    ModelArgument model;
    TextArguments text;
    ComputeOptions compute;
    ResultFile out;
    std::int64_t layer = 0, head = 0, sort_idx = 0;
    bool all_targets = false;
    analyze::FocusOptions focus;
};

using TracePtr = std::shared_ptr<const trace::Trace>;

using Cells = std::vector<figure::Table::Cell>;

/// A row of the table; `terms` is a row of numbers as facts.terms.
template <class Terms>
Cells row_of(const trace::Trace& trace, std::int64_t query, std::int64_t key, const Terms& terms, double score,
             double probability) {
    Cells cells{query, token_name(trace.labels(), query), key, token_name(trace.labels(), key)};
    for (Eigen::Index t = 0; t < terms.size(); ++t) cells.emplace_back(terms[t]);
    cells.emplace_back(score);
    cells.emplace_back(probability);
    return cells;
}

void add_ranked(Result& result, const TracePtr& trace, HeadId id, const FocusArguments& o, const CancelToken& cancel,
                const Console& console) {
    const analyze::FocusBreakdown found =
        analyze::focus_breakdown(std::array{trace}, id, o.sort_idx, o.focus, cancel, console.progress());
    for (std::size_t i = 0; i < found.queries.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        if (found.keys[i] >= 0) {
            result.table.rows.push_back(row_of(*trace, found.queries[i].position.value, found.keys[i], found.terms.row(at),
                                               found.score[at], found.probability[at]));
            continue;
        }
        Cells gap{found.queries[i].position.value, token_name(trace->labels(), found.queries[i].position.value)};
        gap.resize(result.table.columns.size());
        result.table.rows.push_back(std::move(gap));
    }
}

void add_every(Result& result, const trace::Trace& trace, HeadId id, const FocusArguments& o, const CancelToken& cancel,
               const Console& console) {
    analyze::for_each_focus_row(
        trace, id, o.focus,
        [&](const analyze::FocusRow& row) {
            for (std::int64_t key = 0; key < row.targets; ++key)
                result.table.rows.push_back(
                    row_of(trace, row.query.value, key, row.terms.row(key), row.score[key], row.probability[key]));
        },
        cancel, console.progress());
}

/// Arrays [query, key] in place of a row a pair; NaN where a key is masked or a term does not exist.
void add_arrays(Result& result, const trace::Trace& trace, HeadId id, const FocusArguments& o, const CancelToken& cancel,
                const Console& console) {
    const std::int64_t n = trace.tokens();
    for (std::size_t c = 4; c < result.table.columns.size(); ++c)
        result.arrays.push_back({result.table.columns[c],
                                 {n, n},
                                 std::vector<float>(static_cast<std::size_t>(n * n), std::numeric_limits<float>::quiet_NaN())});
    analyze::for_each_focus_row(
        trace, id, o.focus,
        [&](const analyze::FocusRow& row) {
            const auto terms = static_cast<std::size_t>(row.terms.cols());
            for (std::int64_t key = 0; key < row.targets; ++key) {
                const auto at = static_cast<std::size_t>(row.query.value * n + key);
                for (std::size_t t = 0; t < terms; ++t)
                    result.arrays[t].values[at] = static_cast<float>(row.terms(key, static_cast<Eigen::Index>(t)));
                result.arrays[terms].values[at] = static_cast<float>(row.score[key]);
                result.arrays[terms + 1].values[at] = static_cast<float>(row.probability[key]);
            }
        },
        cancel, console.progress());
    result.table.columns.clear();
}

void describe(Result& result, const analyze::FocusFacts& facts, const FocusArguments& o) {
    result.table.columns = {"query", "query_token", "key", "key_token"};
    for (const analyze::FocusTerm& term : facts.terms) {
        result.table.columns.push_back(term.id);
        result.definitions.emplace_back(term.id, term.definition);
    }
    for (const char* last : {"score", "probability"}) result.table.columns.emplace_back(last);
    result.definitions.emplace_back("score", "What the softmax sees: the sum of the terms.");
    result.definitions.emplace_back("probability", "Softmax weight of this query on this key.");
    result.facts.emplace_back("layer", std::to_string(o.layer));
    result.facts.emplace_back("head", std::to_string(o.head));
    result.facts.emplace_back("targets", o.all_targets ? "all" : "sort_idx " + std::to_string(o.sort_idx));
    result.facts.emplace_back("position", facts.position_kind);
    for (std::size_t k = 0; k < facts.notes.size(); ++k)
        result.facts.emplace_back("note_" + std::to_string(k + 1), facts.notes[k]);
}

int focus(const FocusArguments& o, const Console& console) {
    o.out.check();
    const Loaded loaded = load_for_run(o.model, o.text, o.compute, console);
    const auto trace = run_loaded(loaded, {}, console);
    const HeadId id{Layer(o.layer), Head(o.head)};
    const analyze::FocusFacts facts = analyze::focus_facts(*trace, id, o.focus);
    Result result{.table = {}, .arrays = {}, .definitions = {}, .facts = facts_of(*trace)};
    describe(result, facts, o);
    const bool as_arrays = o.all_targets && std::filesystem::path(o.out.path).extension() == ".npz";
    const std::int64_t n = trace->tokens(), pairs = facts.causal ? n * (n + 1) / 2 : n * n;
    if (o.all_targets && !as_arrays && pairs > most_focus_rows)
        throw Error(ErrorFacts{.problem = "a row for every pair would be too long a table",
                               .item = "--all-targets",
                               .expected = "at most " + std::to_string(most_focus_rows) + " pairs",
                               .found = std::to_string(pairs) + " of " + std::to_string(n) + " tokens",
                               .hint = "Write .npz, which holds [query, key] arrays of any length"});
    if (as_arrays)
        add_arrays(result, *trace, id, o, loaded.cancel, console);
    else if (o.all_targets)
        add_every(result, *trace, id, o, loaded.cancel, console);
    else
        add_ranked(result, trace, id, o, loaded.cancel, console);
    console.clear_progress();
    for (const std::string& note : facts.notes) console.note(note);
    o.out.write(result, console);
    return 0;
}

}  // namespace

Action define_analyze_focus(Definition& definition, const Frontend&) {
    auto options = std::make_shared<FocusArguments>();
    options->model.add(definition);
    options->text.add(definition);
    options->text.add_image(definition);
    const auto index = [&](const char* flag, std::int64_t& value, const char* help) {
        return definition.app->add_option(flag, value, help)->type_name("N")->check(counted_from_zero());
    };
    index("--layer", options->layer, "the layer, from 0")->required();
    index("--head", options->head, "the head, from 0")->required();
    CLI::Option* rank = index("--sort-idx", options->sort_idx,
                              "which target of each query: 0 the one with the largest score, 1 the second (default: 0)");
    definition.app->add_flag("--all-targets", options->all_targets, "every target of every query")->excludes(rank);
    definition.app->add_flag("--five-terms", options->focus.five_terms, "take the keys' bias apart too");
    definition.app->add_flag("--absolute", options->focus.absolute_positions,
                             "ALiBi from the first token (m j) instead of from the query (-m (i - j))");
    options->out.add(definition);
    options->compute.add(definition);
    return [options, console = definition.console] { return focus(*options, *console); };
}

}  // namespace headlight::cli
