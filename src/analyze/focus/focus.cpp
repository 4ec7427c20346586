// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/focus/focus.h"
#include "headlight/base/numbers.h"

#include "analyze/focus/focus_terms.h"
#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headlight::analyze {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::int64_t targets_of(const trace::Trace& trace, std::int64_t query) {
    return trace.config().causal ? query + 1 : trace.tokens();
}

/// Scores of every query in blocks of rows: fn(query, scores [targets]).
template <class Fn>
void for_each_score_row(const trace::Trace& trace, HeadId id, const CancelToken& cancel, Fn fn) {
    const std::int64_t n = trace.tokens(), block = row_block(trace);
    for (std::int64_t first = 0; first < n; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, n - first);
        const at::Tensor tile = trace::score_rows(trace, id.layer, id.head, first, count).to(at::kFloat).contiguous();
        for (std::int64_t r = 0; r < count; ++r)
            fn(first + r, std::span(tile.data_ptr<float>() + r * n, static_cast<std::size_t>(targets_of(trace, first + r))));
    }
}

/// Position of the number of rank `rank`, largest first, of equal numbers the first; -1 when there are fewer.
std::int64_t ranked_key(std::span<const float> row, std::int64_t rank, std::vector<std::int64_t>& order) {
    // Keys that a window hides have scores of -inf: before the others and, where the model looks both ways, behind them.
    if (rank >= std::ranges::count_if(row, [](float x) { return !std::isinf(x); })) return -1;
    if (rank == 0) return std::max_element(row.begin(), row.end()) - row.begin();
    order.resize(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::nth_element(order.begin(), order.begin() + rank, order.end(), [&](std::int64_t a, std::int64_t b) {
        const float x = row[static_cast<std::size_t>(a)], y = row[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
    });
    return order[static_cast<std::size_t>(rank)];
}

at::Tensor index_tensor(const std::vector<std::int64_t>& values) {
    return at::from_blob(const_cast<std::int64_t*>(values.data()), {static_cast<std::int64_t>(values.size())}, at::kLong).clone();
}

void check_rank(Traces traces, std::int64_t sort_idx) {
    std::int64_t longest = 0;
    for (const auto& trace : traces) longest = std::max(longest, trace->tokens());
    if (sort_idx >= 0 && sort_idx < longest) return;
    throw Error(ErrorFacts{.problem = "No target has this rank",
                           .item = "sort_idx",
                           .expected = "0 to " + std::to_string(longest - 1) + " (0 is the largest)",
                           .found = std::to_string(sort_idx)});
}

/// One text's part of a breakdown, written from row `at` on.
void add_breakdown(FocusBreakdown& out, const trace::Trace& trace, Eigen::Index at, const FocusOptions& options,
                   const CancelToken& cancel) {
    const HeadId id = out.facts.head;
    std::vector<std::int64_t> queries, keys, order;
    for_each_score_row(trace, id, cancel, [&](std::int64_t query, std::span<const float> row) {
        const std::int64_t key = ranked_key(row, out.sort_idx, order);
        out.keys.push_back(key);
        if (key < 0) return;
        queries.push_back(query);
        keys.push_back(key);
        out.score[at + query] = row[static_cast<std::size_t>(key)];
    });
    if (queries.empty()) return;
    for_each_pattern_row(trace, id, 0, trace.tokens(), [&](std::int64_t query, const float* weights) {
        const std::int64_t key = out.keys[static_cast<std::size_t>(at + query)];
        if (key >= 0) out.probability[at + query] = weights[key];
    });
    const ScoreTerms terms(trace, id, options);
    const at::Tensor values = terms.pairs(index_tensor(queries), index_tensor(keys));
    const Eigen::Map<const RowMatrix> found(values.data_ptr<double>(), values.size(0), values.size(1));
    for (std::size_t r = 0; r < queries.size(); ++r) {
        out.terms.row(at + queries[r]) = found.row(static_cast<Eigen::Index>(r));
        out.score[at + queries[r]] += terms.row_constant(queries[r]);
    }
}

FocusMaxima empty_maxima(const trace::Trace& trace, HeadId id) {
    FocusMaxima maxima;
    maxima.facts = focus_facts(trace, id);
    maxima.row_mean = Eigen::VectorXd::Constant(trace.tokens(), kNaN);
    maxima.rows.resize(static_cast<std::size_t>(trace.tokens()));
    return maxima;
}

/// Over the keys that the query may see.
double mean_of(std::span<const float> row) {
    double sum = 0;
    std::int64_t count = 0;
    for (const float x : row) {
        if (std::isinf(x)) continue;
        sum += static_cast<double>(x);
        ++count;
    }
    return sum / static_cast<double>(count);
}

void add_row(FocusMaxima& maxima, std::int64_t query, std::span<const float> row) {
    RowMaximum& maximum = maxima.rows[static_cast<std::size_t>(query)];
    maximum.key = std::max_element(row.begin(), row.end()) - row.begin();
    maximum.kind = maximum.key == query ? Maximum::self : maximum.key == 0 ? Maximum::first : Maximum::other;
    maximum.counted = query > 0 || !maxima.facts.causal;
    maxima.row_mean[query] = mean_of(row);
    if (!maximum.counted) return;
    ++maxima.counted;
    maxima.on_self += maximum.kind == Maximum::self;
    maxima.on_first += maximum.kind == Maximum::first;
}

/// Takes the mean away; a single number has no course.
double centre(Eigen::VectorXd& values) {
    const double mean = values.mean();
    if (values.size() > 1)
        values.array() -= mean;
    else
        values.setConstant(kNaN);
    return mean;
}

}  // namespace

FocusBreakdown focus_breakdown(Traces traces, HeadId id, std::int64_t sort_idx, const FocusOptions& options,
                               const CancelToken& cancel, const Progress& progress) {
    check_one_model(traces);
    FocusBreakdown out;
    out.facts = focus_facts(*traces.front(), id, options);
    check_rank(traces, sort_idx);
    out.sort_idx = sort_idx;
    for (std::size_t t = 0; t < traces.size(); ++t)
        for (std::int64_t i = 0; i < traces[t]->tokens(); ++i) out.queries.push_back({static_cast<std::int64_t>(t), Position(i)});
    const auto rows = static_cast<Eigen::Index>(out.queries.size());
    out.terms = Eigen::MatrixXd::Constant(rows, static_cast<Eigen::Index>(out.facts.terms.size()), kNaN);
    out.score = out.probability = Eigen::VectorXd::Constant(rows, kNaN);
    for (const auto& trace : traces) {
        add_breakdown(out, *trace, static_cast<Eigen::Index>(out.keys.size()), options, cancel);
        if (progress && traces.size() > 1)
            progress({"Taking scores apart", "text", &trace - traces.data() + 1, static_cast<std::int64_t>(traces.size())});
    }
    return out;
}

void for_each_focus_row(const trace::Trace& trace, HeadId id, const FocusOptions& options,
                        const std::function<void(const FocusRow&)>& fn, const CancelToken& cancel, const Progress& progress) {
    const ScoreTerms terms(trace, id, options);
    constexpr std::int64_t kTermElements = 1 << 18;  // of one term: all of them are several times as large as rows of a pattern
    const std::int64_t n = trace.tokens(), block = row_block(trace), part = std::max<std::int64_t>(1, kTermElements / n);
    at::Tensor scores, weights;  // of a block
    for (std::int64_t first = 0, count = 0; first < n; first += count) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Taking scores apart", "token", first, n});
        const std::int64_t in_tile = first % block;
        count = std::min({part, n - first, block - in_tile});
        const std::int64_t keys = targets_of(trace, first + count - 1);
        if (in_tile == 0) {
            const std::int64_t rows = std::min(block, n - first);
            scores = trace::score_rows(trace, id.layer, id.head, first, rows).to(at::kDouble).contiguous();
            weights = trace::pattern_rows(trace, id.layer, id.head, first, rows).to(at::kDouble).contiguous();
        }
        const at::Tensor values = terms.rows(first, count, keys);
        const std::int64_t width = values.size(2);
        for (std::int64_t r = 0; r < count; ++r) {
            FocusRow row;
            row.query = Position(first + r);
            row.targets = targets_of(trace, first + r);
            row.terms = Eigen::Map<const RowMatrix>(values.data_ptr<double>() + r * keys * width, row.targets, width);
            row.score = Eigen::Map<const Eigen::VectorXd>(scores.data_ptr<double>() + (in_tile + r) * n, row.targets);
            row.score.array() += terms.row_constant(first + r);
            const model::KeyRange legal = legal_keys_of(trace, id.layer, row.query);
            for (std::int64_t j = 0; j < row.targets; ++j) {
                if (legal.has(j)) continue;
                row.score[j] = kNaN;  // outside the window
                row.terms.row(j).setConstant(kNaN);
            }
            row.probability = Eigen::Map<const Eigen::VectorXd>(weights.data_ptr<double>() + (in_tile + r) * n, row.targets);
            fn(row);
        }
    }
}

FocusMaxima focus_maxima(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    FocusMaxima maxima = empty_maxima(trace, id);
    for_each_score_row(trace, id, cancel, [&](std::int64_t query, std::span<const float> row) { add_row(maxima, query, row); });
    return maxima;
}

FocusMap focus_map(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    FocusMap map{empty_maxima(trace, id), {}};
    map.score = Matrix::Constant(trace.tokens(), trace.tokens(), std::numeric_limits<float>::quiet_NaN());
    for_each_score_row(trace, id, cancel, [&](std::int64_t query, std::span<const float> row) {
        add_row(map.maxima, query, row);
        std::transform(row.begin(), row.end(), map.score.data() + query * trace.tokens(),
                       [](float x) { return std::isinf(x) ? std::numeric_limits<float>::quiet_NaN() : x; });
    });
    return map;
}

FocusTrend focus_trend(const trace::Trace& trace, HeadId id) {
    const ScoreTerms terms(trace, id, {.absolute_positions = true});
    const std::int64_t n = trace.tokens();
    FocusTrend trend;
    trend.facts = terms.facts();
    const at::Tensor bias = terms.bias_of_keys().contiguous();
    trend.bias = Eigen::Map<const Eigen::VectorXd>(bias.data_ptr<double>(), n);
    trend.bias_mean = centre(trend.bias);
    trend.position.setConstant(n, kNaN);
    if (terms.alibi().defined()) trend.position = Eigen::Map<const Eigen::VectorXd>(terms.alibi().data_ptr<double>(), n);
    trend.position_mean = centre(trend.position);
    return trend;
}

namespace {

/// The columns of every table of terms, without rows.
Table terms_table(const FocusFacts& facts) {
    Table table{{"query", "query_token", "key", "key_token"}, {}};
    for (const FocusTerm& term : facts.terms) {
        table.columns.push_back(term.id);
        table.definitions.emplace_back(term.id, term.definition);
    }
    table.columns.insert(table.columns.end(), {"score", "probability"});
    table.definitions.emplace_back("score", "What the softmax sees: the sum of the terms.");
    table.definitions.emplace_back("probability", "Softmax weight of this query on this key.");
    return table;
}

template <class Terms>
void add_terms(Table& table, const std::vector<text::TokenLabel>& labels, std::int64_t query, std::int64_t key,
               const Terms& terms, double score, double probability) {
    std::vector<Table::Cell> row{query, token_name(labels, query), key, token_name(labels, key)};
    row.insert(row.end(), terms.begin(), terms.end());
    row.insert(row.end(), {score, probability});
    table.add(std::move(row));
}

}  // namespace

Table table_of(const FocusBreakdown& found, const std::vector<text::TokenLabel>& labels) {
    Table table = terms_table(found.facts);
    for (std::size_t i = 0; i < found.queries.size(); ++i) {
        if (found.queries[i].text != 0) continue;
        const auto at = static_cast<Eigen::Index>(i);
        const std::int64_t query = found.queries[i].position.value;
        if (found.keys[i] < 0)
            table.add({query, token_name(labels, query)});
        else
            add_terms(table, labels, query, found.keys[i], found.terms.row(at), found.score[at], found.probability[at]);
    }
    return table;
}

Table focus_table(const trace::Trace& trace, HeadId id, const FocusOptions& options, bool arrays, const CancelToken& cancel,
                  const Progress& progress) {
    const FocusFacts facts = focus_facts(trace, id, options);
    Table table = terms_table(facts);
    const std::int64_t n = trace.tokens();
    if (!arrays)
        check_rows(facts.causal ? n * (n + 1) / 2 : n * n, n, "Write .npz, which holds [query, key] arrays of any length");
    if (arrays)
        for (std::size_t c = 4; c < table.columns.size(); ++c)
            table.arrays.push_back(
                {table.columns[c], {n, n}, std::vector<float>(static_cast<std::size_t>(n * n), static_cast<float>(kNaN))});
    for_each_focus_row(
        trace, id, options,
        [&](const FocusRow& row) {
            for (std::int64_t key = 0; key < row.targets; ++key) {
                if (!arrays) {
                    add_terms(table, trace.labels(), row.query.value, key, row.terms.row(key), row.score[key],
                              row.probability[key]);
                    continue;
                }
                const auto at = static_cast<std::size_t>(row.query.value * n + key),
                           terms = static_cast<std::size_t>(row.terms.cols());
                for (std::size_t t = 0; t < terms; ++t)
                    table.arrays[t].values[at] = static_cast<float>(row.terms(key, static_cast<Eigen::Index>(t)));
                table.arrays[terms].values[at] = static_cast<float>(row.score[key]);
                table.arrays[terms + 1].values[at] = static_cast<float>(row.probability[key]);
            }
        },
        cancel, progress);
    if (arrays) table.columns.clear();
    return table;
}

}  // namespace headlight::analyze
