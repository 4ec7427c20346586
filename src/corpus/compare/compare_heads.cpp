// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/compare/compare_heads.h"

#include "headlight/base/error.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

Eigen::Index column_of(const HeadTexts& of, HeadId id) {
    if (id.layer.value < 0 || id.layer.value >= of.layers() || id.head.value < 0 || id.head.value >= of.heads())
        throw Error(
            {.problem = "There is no such head",
             .expected = "layer 0 to " + std::to_string(of.layers() - 1) + ", head 0 to " + std::to_string(of.heads() - 1),
             .found = "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value)});
    return id.layer.value * of.heads() + id.head.value;
}

/// Rows of the texts that both have, and a column for each head.
TextValues chosen(const TextValues& all, const std::vector<Eigen::Index>& rows, const std::vector<Eigen::Index>& columns) {
    return {all.values(rows, columns), all.weights(rows, columns)};
}

double mean_over(const TextValues& x, const Eigen::ArrayXd& both, Eigen::Index column) {
    const double weight = (x.weights.col(column).array() * both).sum();
    return weight > 0 ? (x.values.col(column).array() * both).sum() / weight : kNaN;
}

}  // namespace

HeadPairs same_heads(const HeadTexts& a, const HeadTexts& b) {
    HeadPairs pairs;
    for (std::int64_t l = 0; l < std::min(a.layers(), b.layers()); ++l)
        for (std::int64_t h = 0; h < std::min(a.heads(), b.heads()); ++h)
            pairs.emplace_back(HeadId{Layer(l), Head(h)}, HeadId{Layer(l), Head(h)});
    return pairs;
}

std::vector<HeadDifference> compare_heads(const HeadTexts& a, const HeadTexts& b, const HeadPairs& pairs,
                                          const BootstrapOptions& options) {
    std::vector<Eigen::Index> rows_a, rows_b, columns_a, columns_b;
    for (std::size_t i = 0, j = 0; i < a.texts().size() && j < b.texts().size();) {
        const std::int64_t x = a.texts()[i], y = b.texts()[j];
        if (x == y) {
            rows_a.push_back(static_cast<Eigen::Index>(i));
            rows_b.push_back(static_cast<Eigen::Index>(j));
        }
        i += x <= y;
        j += y <= x;
    }
    if (rows_a.empty()) throw Error("The two stores have run no text in common");
    for (const auto& [head, partner] : pairs) {
        columns_a.push_back(column_of(a, head));
        columns_b.push_back(column_of(b, partner));
    }
    const Bootstrap bootstrap(std::ssize(rows_a), options);
    std::vector<HeadDifference> out;
    bool any = false;
    for (std::size_t m = 0; m < a.measures().size(); ++m) {
        const auto other = std::ranges::find(b.measures(), a.measures()[m]);
        if (other == b.measures().end()) continue;
        any = true;
        const TextValues of_a = chosen(a.of(m), rows_a, columns_a),
                         of_b = chosen(b.of(static_cast<std::size_t>(other - b.measures().begin())), rows_b, columns_b);
        const std::vector<Interval> differences = bootstrap.differences(of_a.values, of_a.weights, of_b.values, of_b.weights);
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const auto column = static_cast<Eigen::Index>(p);
            const Eigen::ArrayXd both =
                (of_a.weights.col(column).array() > 0 && of_b.weights.col(column).array() > 0).cast<double>();
            out.push_back({.measure = a.measures()[m],
                           .head = pairs[p].first,
                           .partner = pairs[p].second,
                           .mean = mean_over(of_a, both, column),
                           .partner_mean = mean_over(of_b, both, column),
                           .difference = differences[p],
                           .texts = static_cast<std::int64_t>(both.sum())});
        }
    }
    if (!any) throw Error("The two stores have no measure of heads in common");
    return out;
}

analyze::Table table_of(const std::vector<HeadDifference>& differences) {
    analyze::Table table{{"measure", "layer", "head", "partner_layer", "partner_head", "mean", "partner_mean", "difference",
                          "low", "high", "texts"},
                         {}};
    table.definitions = {{"mean", "of the first store's head, over the texts that have the measure in both, each of weight one"},
                         {"partner_mean", "of the second store's"},
                         {"difference", "mean - partner_mean"},
                         {"low", "95 % interval of the difference: percentile bootstrap over texts, paired"}};
    for (const HeadDifference& d : differences)
        if (d.texts > 0)
            table.add({d.measure, d.head.layer.value, d.head.head.value, d.partner.layer.value, d.partner.head.value, d.mean,
                       d.partner_mean, d.difference.mean, d.difference.low, d.difference.high, d.texts});
    return table;
}

void check_same_texts(TextStore& a, TextStore& b) {
    for (std::int64_t i = 0; i < std::min(a.texts(), b.texts()); ++i)
        if (a.text(i).text != b.text(i).text)
            throw Error({.problem = "The two stores hold different texts",
                         .item = "text " + std::to_string(i),
                         .expected = a.text(i).id,
                         .found = b.text(i).id,
                         .hint = "Run both models over the same files, with the same --unit and --limit"});
}

}  // namespace headlight::corpus
