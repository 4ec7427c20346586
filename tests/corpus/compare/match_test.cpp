// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/compare/match.h"

#include "headlight/base/error.h"
#include "tests/corpus/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace headlight::corpus {
namespace {

TEST(Assignment, IsTheCheapestOfAllPermutations) {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> uniform;
    for (const auto& [rows, columns] : {std::pair(5, 5), std::pair(3, 6), std::pair(6, 3), std::pair(1, 1)})
        for (int round = 0; round < 20; ++round) {
            const Eigen::MatrixXd costs = Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return uniform(random); });
            const bool tall = rows > columns;
            std::vector<int> longer(static_cast<std::size_t>(std::max(rows, columns)));
            std::iota(longer.begin(), longer.end(), 0);
            double cheapest = std::numeric_limits<double>::infinity();
            do {
                double sum = 0;
                for (int i = 0; i < std::min(rows, columns); ++i)
                    sum += tall ? costs(longer[static_cast<std::size_t>(i)], i) : costs(i, longer[static_cast<std::size_t>(i)]);
                cheapest = std::min(cheapest, sum);
            } while (std::ranges::next_permutation(longer).found);
            double sum = 0;
            std::vector<std::int64_t> used;
            const std::vector<std::int64_t> partners = cheapest_assignment(costs);
            for (int row = 0; row < rows; ++row)
                if (const std::int64_t column = partners[static_cast<std::size_t>(row)]; column >= 0) {
                    sum += costs(row, column);
                    used.push_back(column);
                }
            EXPECT_NEAR(sum, cheapest, 1e-12);
            std::ranges::sort(used);
            EXPECT_EQ(std::ranges::adjacent_find(used), used.end());
            EXPECT_EQ(std::ssize(used), std::min(rows, columns));
        }
    EXPECT_THROW(cheapest_assignment(Eigen::MatrixXd::Constant(2, 2, std::numeric_limits<double>::quiet_NaN())), Error);
}

/// Gives the heads of a text in another order.
void add_permuted(const Runs& runs, HeadDistances& to, std::int64_t text, const std::vector<std::int64_t>& number) {
    const TextRun run = runs.text_run(text);
    const auto patterns = to.patterns_of(run);
    for (std::int64_t i = 0; i < to.heads(); ++i) {
        const HeadId id = to.head(i), as = to.head(number[static_cast<std::size_t>(i)]);
        const at::Tensor pattern = trace::pattern_rows(*run.trace, id.layer, id.head, 0, run.tokens()).contiguous();
        patterns->add(as, {.weights = floats_of(pattern), .keys = run.tokens()});
    }
    to.add(run, patterns.get());
}

TEST(MatchHeads, FindsHeadsThatChangedPlaces) {
    Runs runs(built_in_model());
    runs.run_all({"The old doctor asked the nurse to wait, because the old doctor was late.", "She was late, and he was not."});
    HeadDistances plain(runs.config(), {.kept = 8}), permuted(runs.config(), {.kept = 8}),
        elsewhere(runs.config(), {.kept = 8, .seed = 1});
    std::vector<std::int64_t> number(static_cast<std::size_t>(plain.heads()));
    std::iota(number.begin(), number.end(), 0);
    std::ranges::shuffle(number, std::mt19937(4));
    for (std::int64_t text = 0; text < runs.size(); ++text) {
        runs.add(plain, text);
        add_permuted(runs, permuted, text, number);
        runs.add(elsewhere, text);
    }
    EXPECT_EQ(plain.kept().size(), 8u);
    const std::vector<HeadMatch> matches = match_heads(plain, permuted);
    for (std::size_t h = 0; h < matches.size(); ++h) {
        EXPECT_EQ(matches[h].partner, plain.head(number[h]));
        EXPECT_EQ(matches[h].divergence, 0);
        EXPECT_EQ(matches[h].nearest, matches[h].partner);
    }
    EXPECT_EQ(table_of(matches).rows.size(), matches.size());
    EXPECT_THROW(match_heads(plain, elsewhere), Error) << "other queries";
}

}  // namespace
}  // namespace headlight::corpus
