// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/comparison.h"
#include "headlight/analyze/columns.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/compare/match.h"
#include "headlight/trace/tensors.h"
#include "intervention/compare/rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace headlight::intervention {
namespace {

constexpr std::int64_t kRowsForMatching = 64;

std::string shape_text(const trace::Trace& trace) {
    return std::to_string(trace.config().n_layers) + " layers of " + std::to_string(trace.config().n_heads) + " heads";
}

/// Cosines and relative lengths of aligned rows; rows of length 0 have neither.
void compare_vectors(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, const std::vector<RowPair>& rows, HeadComparison& out) {
    if (a.cols() != b.cols()) return;
    double cosines = 0, lengths = 0;
    std::int64_t with_cosine = 0, with_length = 0;
    for (const RowPair row : rows) {
        const auto x = a.row(row.a), y = b.row(row.b);
        const double xx = x.squaredNorm(), yy = y.squaredNorm();
        if (xx > 0 && yy > 0) cosines += x.dot(y) / std::sqrt(xx * yy), ++with_cosine;
        if (xx > 0) lengths += (y - x).norm() / std::sqrt(xx), ++with_length;
    }
    if (with_cosine > 0) out.z_cosine = cosines / static_cast<double>(with_cosine);
    if (with_length > 0) out.z_relative_l2 = lengths / static_cast<double>(with_length);
}

void compare_patterns(const RunPair& pair, const std::vector<RowPair>& rows, const CompareOptions& options,
                      const CancelToken& cancel, HeadComparison& out) {
    const Eigen::MatrixXd a = pooled_pattern(*pair.a, out.head, pair.queries.a, pair.keys.a, cancel),
                          b = pooled_pattern(*pair.b, out.partner, pair.queries.b, pair.keys.b, cancel);
    const auto [keys_a, keys_b] = common_keys(pair);
    double js = 0, tv = 0;
    std::int64_t defined = 0;
    for (const RowPair row : rows) {
        const SideRow of_a = side_row(a, row.a, keys_a, options), of_b = side_row(b, row.b, keys_b, options);
        if (!of_a.defined || !of_b.defined) continue;
        const RowDistance distance = row_distance(of_a.common, of_b.common, of_a.rest, of_b.rest);
        ++defined;
        js += distance.js;
        tv += distance.tv;
        if (out.row_of_max < 0 || distance.js > out.js_max) {
            out.js_max = distance.js;
            out.row_of_max = row.a;
        }
    }
    if (defined == 0) return;
    out.js = js / static_cast<double>(defined);
    out.tv = tv / static_cast<double>(defined);
}

/// z of every head of a layer: [head] of [unit, d_value]
std::vector<Eigen::MatrixXd> values_of_heads(const trace::Trace& trace, Layer layer, const std::vector<TextUnit>& units) {
    std::vector<Eigen::MatrixXd> heads;
    const model::HookPoint point{model::Hook::z, layer};
    if (!trace.has(point)) return heads;
    const at::Tensor z = trace::tensor(trace, point);
    for (std::int64_t h = 0; h < z.size(1); ++h) heads.push_back(pooled_rows(z.select(1, h), units));
    return heads;
}

/// [head][row]: rows as distributions of equal length: the common keys, no key, what a has elsewhere, what b has elsewhere.
using RowsOfHeads = std::vector<std::vector<std::vector<float>>>;
RowsOfHeads rows_of_heads(const trace::Trace& trace, const std::vector<TextUnit>& queries, const std::vector<TextUnit>& key_units,
                          const std::vector<std::int64_t>& keys, const std::vector<std::int64_t>& rows, std::size_t of_rest,
                          const CompareOptions& options, const CancelToken& cancel, std::vector<bool>& defined) {
    RowsOfHeads all;
    for (std::int64_t l = 0; l < trace.config().n_layers; ++l)
        for (std::int64_t h = 0; h < trace.config().n_heads; ++h) {
            const Eigen::MatrixXd map = pooled_pattern(trace, {Layer(l), Head(h)}, queries, key_units, cancel);
            auto& of_head = all.emplace_back();
            for (std::size_t r = 0; r < rows.size(); ++r) {
                const SideRow side = side_row(map, rows[r], keys, options);
                auto& row = of_head.emplace_back(side.common.begin(), side.common.end());
                row.resize(row.size() + 2, 0.0F);
                row[side.common.size() + of_rest] = static_cast<float>(side.rest);
                if (!side.defined) defined[r] = false;
            }
        }
    return all;
}

HeadId head_number(const trace::Trace& trace, std::int64_t number) {
    return {Layer(number / trace.config().n_heads), Head(number % trace.config().n_heads)};
}

}  // namespace

bool RunPair::same_shape() const noexcept {
    return a->config().n_layers == b->config().n_layers && a->config().n_heads == b->config().n_heads;
}

bool RunPair::same_model() const noexcept { return a->model() == b->model() || a->model()->hash() == b->model()->hash(); }

RunPair pair_of(TracePtr a, TracePtr b) {
    const bool picture_a = a->encoding().pixels != nullptr, picture_b = b->encoding().pixels != nullptr;
    if (picture_a != picture_b)
        throw Error({.problem = "A picture cannot be compared with a text",
                     .expected = std::string("two ") + (picture_a ? "pictures" : "texts"),
                     .found = a->config().name + " and " + b->config().name});
    if (a->across_texts() != b->across_texts())
        throw Error(ErrorFacts{.problem = "A cross attention cannot be compared with a self attention",
                               .hint = "Choose the same attention of both"});
    RunPair pair{.a = a, .b = b, .queries = align_queries(*a, *b), .keys = {}};
    pair.keys = a->across_texts() ? align_keys(*a, *b) : pair.queries;
    if (compared_rows(pair).empty() || pair.keys.aligned() == 0)
        throw Error({.problem = picture_a ? "The two pictures have no patch in common" : "The two texts have no token in common",
                     .expected = "a token of both, besides the first one of a causal model",
                     .found = a->text_a() + " | " + b->text_a(),
                     .hint = "Compare texts that share words, such as a sentence and its paraphrase"});
    return pair;
}

HeadPairs same_heads(const RunPair& pair) {
    if (!pair.same_shape())
        throw Error({.problem = "The heads of the two models cannot be compared by their numbers",
                     .expected = shape_text(*pair.a),
                     .found = shape_text(*pair.b),
                     .hint = "Match them by what they attend to: --match"});
    HeadPairs pairs;
    for (std::int64_t i = 0; i < pair.a->config().n_layers * pair.a->config().n_heads; ++i)
        pairs.emplace_back(head_number(*pair.a, i), head_number(*pair.a, i));
    return pairs;
}

HeadMatching match_heads(const RunPair& pair, const CompareOptions& options, const CancelToken& cancel,
                         const Progress& progress) {
    std::vector<RowPair> rows = compared_rows(pair);
    if (std::ssize(rows) > kRowsForMatching) {
        std::vector<RowPair> some;
        for (std::int64_t i = 0; i < kRowsForMatching; ++i)
            some.push_back(rows[static_cast<std::size_t>(i * std::ssize(rows) / kRowsForMatching)]);
        rows = std::move(some);
    }
    std::vector<bool> defined(rows.size(), true);
    const auto [keys_a, keys_b] = common_keys(pair);
    std::vector<std::int64_t> rows_a, rows_b;
    for (const RowPair row : rows) rows_a.push_back(row.a), rows_b.push_back(row.b);
    const RowsOfHeads of_a = rows_of_heads(*pair.a, pair.queries.a, pair.keys.a, keys_a, rows_a, 0, options, cancel, defined);
    const RowsOfHeads of_b = rows_of_heads(*pair.b, pair.queries.b, pair.keys.b, keys_b, rows_b, 1, options, cancel, defined);
    const auto heads_a = std::ssize(of_a), heads_b = std::ssize(of_b);
    const auto used = std::ranges::count(defined, true);
    if (used == 0)
        throw Error({.problem = "Heads cannot be matched on this text",
                     .found = "in every row some head attends to nothing but the first token",
                     .hint = "Leave --without-first out, or take a longer text"});
    Eigen::MatrixXd costs = Eigen::MatrixXd::Zero(heads_a, heads_b);
    for (std::int64_t i = 0; i < heads_a; ++i) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Matching", "head", i, heads_a});
        at::parallel_for(0, heads_b, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t j = begin; j < end; ++j)
                for (std::size_t r = 0; r < rows.size(); ++r)
                    if (defined[r])
                        costs(i, j) +=
                            corpus::jensen_shannon(of_a[static_cast<std::size_t>(i)][r], of_b[static_cast<std::size_t>(j)][r]) /
                            static_cast<double>(used);
        });
    }
    const std::vector<std::int64_t> partners = corpus::cheapest_assignment(costs);
    HeadMatching matching;
    matching.rows = used;
    for (std::int64_t i = 0; i < heads_a; ++i) {
        const std::int64_t partner = partners[static_cast<std::size_t>(i)];
        if (partner < 0) continue;
        matching.pairs.emplace_back(head_number(*pair.a, i), head_number(*pair.b, partner));
        matching.js.push_back(costs(i, partner));
    }
    return matching;
}

analyze::Table table_of(const HeadMatching& matching) {
    analyze::Table table{{"layer", "head", "partner_layer", "partner_head", "js"}, {}};
    table.definitions = {{"partner", "of the second model: the one-to-one matching with the smallest sum of divergences"},
                         {"js", "mean Jensen-Shannon divergence of the two over the matched rows, nats"}};
    for (std::size_t p = 0; p < matching.pairs.size(); ++p) {
        const auto& [head, partner] = matching.pairs[p];
        table.add({head.layer.value, head.head.value, partner.layer.value, partner.head.value, matching.js[p]});
    }
    return table;
}

ComparedHeads compare_heads(const RunPair& pair, const HeadPairs& heads, const CompareOptions& options, const CancelToken& cancel,
                            const Progress& progress) {
    const std::vector<RowPair> rows = compared_rows(pair);
    ComparedHeads out;
    out.rows = std::ssize(rows);
    for (const auto& [head, partner] : heads) {
        out.heads.emplace_back().head = head;
        out.heads.back().partner = partner;
    }
    std::vector<Eigen::MatrixXd> z_a;
    std::map<std::int64_t, std::vector<Eigen::MatrixXd>> z_b;  // of matched heads: any layer
    Layer layer(-1);
    for (HeadComparison& each : out.heads) {
        cancel.throw_if_cancelled();
        if (each.head.layer != layer) {
            layer = each.head.layer;
            if (progress) progress({"Comparing", "layer", layer.value, pair.a->config().n_layers});
            z_a = values_of_heads(*pair.a, layer, pair.queries.a);
            if (pair.same_shape()) z_b.erase(z_b.begin(), z_b.lower_bound(layer.value));
        }
        auto& of_b = z_b[each.partner.layer.value];
        if (of_b.empty()) of_b = values_of_heads(*pair.b, each.partner.layer, pair.queries.b);
        if (!z_a.empty() && !of_b.empty())
            compare_vectors(z_a[static_cast<std::size_t>(each.head.head.value)],
                            of_b[static_cast<std::size_t>(each.partner.head.value)], rows, each);
    }
    at::parallel_for(0, std::ssize(out.heads), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            cancel.throw_if_cancelled();
            compare_patterns(pair, rows, options, cancel, out.heads[static_cast<std::size_t>(i)]);
        }
    });
    return out;
}

analyze::Table table_of(const RunPair& pair, const ComparedHeads& compared, bool matched, bool measures) {
    using Row = HeadComparison;
    analyze::Columns<Row> columns{
        {"layer", [](const Row& each) { return each.head.layer; }},
        {"head", [](const Row& each) { return each.head.head; }},
        {"js", &Row::js,
         "mean Jensen-Shannon divergence of the attention rows of A and B that have a partner, nats; weight on tokens of one "
         "text alone counts as moved (0: equal, ln 2: nothing in common)"},
        {"js_max", &Row::js_max, "the largest of these rows"},
        {"tv", &Row::tv, "mean total variation of these rows: the share of attention that moved"},
        {"z_cosine", &Row::z_cosine, "mean cosine of the head's weighted values z in A and B"},
        {"z_relative_l2", &Row::z_relative_l2, "mean |z_B - z_A| / |z_A|"},
        {"partner_layer", [](const Row& each) { return each.partner.layer; }, {}, matched},
        {"partner_head", [](const Row& each) { return each.partner.head; }, {}, matched}};
    if (measures) {
        const analyze::HeadTable a = analyze::head_table(*pair.a), b = analyze::head_table(*pair.b);
        for (std::size_t m = 0; m < a.measures.size(); ++m) {
            const Eigen::MatrixXd* other = b.find(a.measures[m].id);
            if (!other || a.values[m].array().isNaN().all() || other->array().isNaN().all()) continue;
            const auto difference = [a = a.values[m], b = *other](const Row& each) {
                return b(each.partner.layer.value, each.partner.head.value) - a(each.head.layer.value, each.head.head.value);
            };
            columns.add({a.measures[m].id + "_difference", difference, "B - A: " + a.measures[m].definition});
        }
    }
    return columns.table(compared.heads);
}

DifferenceMap difference_map(const RunPair& pair, HeadId head, HeadId partner, const CompareOptions& options) {
    DifferenceMap map;
    map.queries = merged(pair.queries);
    map.keys = merged(pair.keys);
    Eigen::MatrixXd a = pooled_pattern(*pair.a, head, pair.queries.a, pair.keys.a),
                    b = pooled_pattern(*pair.b, partner, pair.queries.b, pair.keys.b);
    if (options.without_first)
        for (Eigen::MatrixXd* each : {&a, &b})
            for (Eigen::Index r = 0; r < each->rows(); ++r) {
                const double stays = each->row(r).sum() - (*each)(r, 0);
                each->row(r) /= stays < kLeastRow ? kNaN : stays;
                (*each)(r, 0) = stays < kLeastRow ? kNaN : 0;
            }
    const auto rows = std::ssize(map.queries), columns = std::ssize(map.keys);
    map.a = map.b = analyze::Matrix::Constant(rows, columns, NAN);
    for (std::int64_t q = 0; q < rows; ++q)
        for (std::int64_t k = 0; k < columns; ++k) {
            const MergedUnit row = map.queries[static_cast<std::size_t>(q)], column = map.keys[static_cast<std::size_t>(k)];
            if (row.a >= 0) map.a(q, k) = column.a < 0 ? 0.0F : static_cast<float>(a(row.a, column.a));
            if (row.b >= 0) map.b(q, k) = column.b < 0 ? 0.0F : static_cast<float>(b(row.b, column.b));
        }
    map.difference = map.b - map.a;
    return map;
}

}  // namespace headlight::intervention
