// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/distances/head_distances.h"

#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/distances/tables.h"
#include "tests/corpus/runs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::corpus {
namespace {

const Runs& three_texts() {
    static const Runs runs = [] {
        Runs made(built_in_model());
        made.run_all({"The old doctor asked the nurse to wait, because the old doctor was late.", "She was late, and he was not.",
                      "It rained all night on the sea."});
        return made;
    }();
    return runs;
}

/// float64 from the definition.
double divergence_by_hand(const at::Tensor& p, const at::Tensor& q) {
    const auto entropy = [](const at::Tensor& x) { return -at::xlogy(x, x).sum().item<double>(); };
    const at::Tensor a = p.to(at::kDouble), b = q.to(at::kDouble);
    return entropy((a + b) / 2) - (entropy(a) + entropy(b)) / 2;
}

TEST(JensenShannon, IsTheSquareOfScipysDistance) {
    const auto js = [](std::vector<float> p, std::vector<float> q) { return jensen_shannon(p, q); };
    EXPECT_NEAR(js({0.5F, 0.5F, 0}, {0.25F, 0.25F, 0.5F}), 0.21576155433883568, 2e-7);
    EXPECT_NEAR(js({1, 0, 0}, {0, 1, 0}), std::log(2.0), 2e-7);
    EXPECT_EQ(js({0.2F, 0.3F, 0.5F}, {0.2F, 0.3F, 0.5F}), 0);
    EXPECT_EQ(js({0.9F, 0.1F}, {0.2F, 0.8F}), js({0.2F, 0.8F}, {0.9F, 0.1F}));
    EXPECT_NEAR(js(std::vector<float>(1000, 1e-3F), std::vector<float>(1000, 1e-3F)), 0, 0);
    EXPECT_THROW(js({1}, {0.5F, 0.5F}), Error);
}

TEST(HeadDistances, AtAllQueriesAreBruteForce) {
    const Runs& runs = three_texts();
    const HeadDistances distances = runs.filled(HeadDistances(runs.config(), {.queries = 0}));
    const Eigen::MatrixXd means = distances.means(), errors = distances.standard_errors();
    ASSERT_EQ(distances.heads(), 48);
    for (const auto& [a, b] : {std::pair(0, 1), std::pair(3, 17), std::pair(20, 47), std::pair(46, 47)}) {
        std::vector<double> sums, counts;
        double sum = 0, count = 0;
        for (std::int64_t text = 0; text < runs.size(); ++text) {
            const trace::Trace& t = runs.trace(text);
            const auto pattern = [&](std::int64_t number) {
                const HeadId id = distances.head(number);
                return trace::pattern_rows(t, id.layer, id.head, 0, t.tokens());
            };
            const at::Tensor p = pattern(a), q = pattern(b);
            double of_text = 0;
            for (std::int64_t i = 1; i < t.tokens(); ++i) of_text += divergence_by_hand(p[i], q[i]);
            sums.push_back(of_text);
            counts.push_back(static_cast<double>(t.tokens() - 1));
            sum += of_text;
            count += counts.back();
        }
        EXPECT_NEAR(means(a, b), sum / count, 2e-7);
        EXPECT_EQ(means(a, b), means(b, a));
        double residuals = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) residuals += std::pow(sums[i] - sum / count * counts[i], 2);
        EXPECT_NEAR(errors(a, b), std::sqrt(residuals * 3 / 2) / count, 1e-6);
        EXPECT_EQ(distances.queries(), static_cast<std::int64_t>(count));
    }
    EXPECT_TRUE((means.diagonal().array() == 0).all());
    EXPECT_LE(means.maxCoeff(), std::log(2.0) + 1e-6);
    EXPECT_GT(means.maxCoeff(), 0.3) << "no two heads differ";
}

TEST(HeadDistances, DrawTheQueriesWithTheSmallestHashes) {
    const Runs& runs = three_texts();
    HeadDistances distances(runs.config(), {.queries = 2, .seed = 9});
    runs.add(distances, 0);
    const trace::Trace& t = runs.trace(0);
    std::vector<std::int64_t> order;
    for (std::int64_t p = 1; p < t.tokens(); ++p) order.push_back(p);
    std::ranges::sort(order, {}, [](std::int64_t p) { return draw(9, 0, p); });
    double sum = 0;
    for (const std::int64_t p : {order[0], order[1]})
        sum += divergence_by_hand(trace::pattern_rows(t, Layer(0), Head(2), p, 1)[0],
                                  trace::pattern_rows(t, Layer(4), Head(5), p, 1)[0]);
    EXPECT_NEAR(distances.means()(2, 4 * 8 + 5), sum / 2, 2e-7);
    EXPECT_TRUE(std::isnan(distances.standard_errors()(0, 1))) << "of a single text";
    EXPECT_EQ(distances.drawn(), 2);
    EXPECT_EQ(distances.queries(), t.tokens() - 1) << "what the two stand for";
    // Texts weigh what they are long, not what was drawn of them.
    HeadDistances both(runs.config(), {.queries = 2, .seed = 9}), other(runs.config(), {.queries = 2, .seed = 9});
    runs.add(other, 1);
    runs.add(both, 0);
    runs.add(both, 1);
    const double a = static_cast<double>(distances.queries()), b = static_cast<double>(other.queries());
    EXPECT_NE(a, b);
    EXPECT_NEAR(both.means()(1, 2), (a * distances.means()(1, 2) + b * other.means()(1, 2)) / (a + b), 1e-9);
    // No query before the chunk's first one counts.
    HeadDistances behind(runs.config(), {.queries = 0});
    runs.add(behind, 0, t.tokens() - 3);
    EXPECT_EQ(behind.queries(), 3);
}

TEST(HeadDistances, TablesOrderPairsAndNameTheNearestHeads) {
    const Runs& runs = three_texts();
    const HeadDistances distances = runs.filled(HeadDistances(runs.config()));
    const analyze::Table pairs = pairs_table(distances, true);
    ASSERT_EQ(pairs.rows.size(), 48u * 47 / 2);
    for (std::size_t i = 1; i < pairs.rows.size(); ++i)
        EXPECT_LE(std::get<double>(pairs.rows[i - 1][4]), std::get<double>(pairs.rows[i][4]));
    const auto integer = [](const analyze::Table::Cell& cell) { return std::get<std::int64_t>(cell); };
    const std::int64_t a = 8 * integer(pairs.rows[0][0]) + integer(pairs.rows[0][1]),
                       b = 8 * integer(pairs.rows[0][2]) + integer(pairs.rows[0][3]);
    EXPECT_EQ(distances.means()(a, b), std::get<double>(pairs.rows[0][4]));
    const MapTableOptions options{.group_below = std::get<double>(pairs.rows[0][4])};
    const HeadMap map = head_map(distances, options);
    const analyze::Table table = map_table(distances, map, options);
    ASSERT_EQ(table.rows.size(), 48u);
    // The two nearest heads of all are each other's nearest, and the only group of two.
    const HeadId nearest_of_a = distances.head(b);
    EXPECT_TRUE(
        std::get<std::string>(table.rows[static_cast<std::size_t>(a)][5])
            .starts_with("L" + std::to_string(nearest_of_a.layer.value) + "H" + std::to_string(nearest_of_a.head.value) + " "));
    EXPECT_EQ(map.groups[static_cast<std::size_t>(a)], map.groups[static_cast<std::size_t>(b)]);
    EXPECT_EQ(std::ranges::max(map.groups), 46);
}

TEST(HeadDistances, AreTheSameBytesInAnyOrderAndAnyParts) {
    expect_the_same_bytes_in_any_order(three_texts(), HeadDistances(three_texts().config(), {.queries = 5}));
}

TEST(HeadDistances, ATextWithoutAQueryIsNoText) {
    Runs runs(built_in_model());
    runs.run({.add_special_tokens = false, .ids = {17}});
    const HeadDistances distances = runs.filled(HeadDistances(runs.config()));
    EXPECT_EQ(distances.chunks(), 0);
    EXPECT_TRUE(std::isnan(distances.means()(0, 1)));
}

}  // namespace
}  // namespace headlight::corpus
