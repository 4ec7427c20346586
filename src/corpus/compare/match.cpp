// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/compare/match.h"
#include "headlight/analyze/columns.h"

#include "headlight/base/error.h"

#include <ATen/Parallel.h>

#include <limits>

namespace headlight::corpus {
namespace {

/// Every row gets a column: rows <= columns. Rows are added one by one along the shortest augmenting path under potentials.
std::vector<std::int64_t> assign_rows(const Eigen::MatrixXd& costs) {
    const auto rows = static_cast<std::size_t>(costs.rows()), columns = static_cast<std::size_t>(costs.cols());
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    std::vector<double> of_row(rows + 1), of_column(columns + 1);  // potentials; row and column 0 stand for none
    std::vector<std::size_t> row_of(columns + 1), before(columns + 1);
    for (std::size_t row = 1; row <= rows; ++row) {
        row_of[0] = row;
        std::size_t column = 0;
        std::vector<double> slack(columns + 1, kInfinite);
        std::vector<bool> used(columns + 1);
        do {
            used[column] = true;
            const std::size_t here = row_of[column];
            double least = kInfinite;
            std::size_t next = 0;
            for (std::size_t c = 1; c <= columns; ++c) {
                if (used[c]) continue;
                const double reduced =
                    costs(static_cast<Eigen::Index>(here - 1), static_cast<Eigen::Index>(c - 1)) - of_row[here] - of_column[c];
                if (reduced < slack[c]) {
                    slack[c] = reduced;
                    before[c] = column;
                }
                if (slack[c] < least) {
                    least = slack[c];
                    next = c;
                }
            }
            for (std::size_t c = 0; c <= columns; ++c) {
                if (used[c]) {
                    of_row[row_of[c]] += least;
                    of_column[c] -= least;
                } else {
                    slack[c] -= least;
                }
            }
            column = next;
        } while (row_of[column] != 0);
        for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
    }
    std::vector<std::int64_t> column_of(rows, -1);
    for (std::size_t c = 1; c <= columns; ++c)
        if (row_of[c] != 0) column_of[row_of[c] - 1] = static_cast<std::int64_t>(c - 1);
    return column_of;
}

}  // namespace

std::vector<std::int64_t> cheapest_assignment(const Eigen::MatrixXd& costs) {
    if (!costs.allFinite()) throw Error("A matching needs a finite cost for every pair");
    if (costs.rows() <= costs.cols()) return assign_rows(costs);
    const std::vector<std::int64_t> row_of = assign_rows(costs.transpose());
    std::vector<std::int64_t> column_of(static_cast<std::size_t>(costs.rows()), -1);
    for (std::size_t c = 0; c < row_of.size(); ++c) column_of[static_cast<std::size_t>(row_of[c])] = static_cast<std::int64_t>(c);
    return column_of;
}

Eigen::MatrixXd cross_divergences(const HeadDistances& a, const HeadDistances& b) {
    const auto same = [](const KeptQuery& x, const KeptQuery& y) {
        return x.text == y.text && x.position == y.position && x.keys == y.keys;
    };
    if (a.kept().empty() || !std::ranges::equal(a.kept(), b.kept(), same))
        throw Error(
            {.problem = "Heads of two stores cannot be matched",
             .expected = "the same queries in both",
             .found = std::to_string(a.kept().size()) + " and " + std::to_string(b.kept().size()) + " unlike ones",
             .hint = "Run both models over the same texts with tokenizers that agree, the same context and the same seed"});
    Eigen::MatrixXd sums = Eigen::MatrixXd::Zero(a.heads(), b.heads());
    at::parallel_for(0, a.heads(), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h)
            for (std::int64_t g = 0; g < b.heads(); ++g)
                for (std::size_t q = 0; q < a.kept().size(); ++q)
                    sums(h, g) += jensen_shannon(a.kept()[q].of(h), b.kept()[q].of(g));
    });
    return sums / static_cast<double>(a.kept().size());
}

std::vector<HeadMatch> match_heads(const HeadDistances& a, const HeadDistances& b) {
    const Eigen::MatrixXd divergences = cross_divergences(a, b);
    const std::vector<std::int64_t> partners = cheapest_assignment(divergences);
    std::vector<HeadMatch> matches;
    for (std::int64_t h = 0; h < a.heads(); ++h) {
        HeadMatch match{.head = a.head(h), .partner = {}, .nearest = {}};
        Eigen::Index nearest = 0;
        match.nearest_divergence = divergences.row(h).minCoeff(&nearest);
        match.nearest = b.head(nearest);
        if (const std::int64_t partner = partners[static_cast<std::size_t>(h)]; partner >= 0) {
            match.matched = true;
            match.partner = b.head(partner);
            match.divergence = divergences(h, partner);
        }
        matches.push_back(match);
    }
    return matches;
}

analyze::Table table_of(const std::vector<HeadMatch>& matches) {
    using Row = HeadMatch;
    const auto matched = [](const Row& m, auto value) { return m.matched ? std::optional(value) : std::nullopt; };
    return analyze::Columns<Row>{{"layer", [](const Row& m) { return m.head.layer; }},
                                 {"head", [](const Row& m) { return m.head.head; }},
                                 {"partner_layer", [=](const Row& m) { return matched(m, m.partner.layer); },
                                  "of the second store: the one-to-one matching with the smallest sum of divergences"},
                                 {"partner_head", [=](const Row& m) { return matched(m, m.partner.head); }},
                                 {"divergence", [=](const Row& m) { return matched(m, m.divergence); },
                                  "mean Jensen-Shannon divergence of the two at the kept queries, nats"},
                                 {"nearest_layer", [](const Row& m) { return m.nearest.layer; },
                                  "of the second store's nearest head, which another may be matched with"},
                                 {"nearest_head", [](const Row& m) { return m.nearest.head; }},
                                 {"nearest_divergence", &Row::nearest_divergence}}
        .table(matches);
}

}  // namespace headlight::corpus
