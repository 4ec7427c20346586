// SPDX-License-Identifier: GPL-3.0-or-later
// The one-pass kernels against plain double loops over the whole pattern.
#include "trace/head_kernels.h"

#include "naive_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

namespace headlight::trace {
namespace {

using namespace testing_support;

Example make_example(std::int64_t tokens, bool causal, unsigned seed, std::int64_t vocabulary = 40) {
    Example e;
    e.causal = causal;
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const auto n = static_cast<std::size_t>(tokens);
    e.pattern.assign(n * n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
        e.ids.push_back(static_cast<std::int64_t>(random() % static_cast<unsigned>(vocabulary)));
        e.special.push_back(i == 0 || (!causal && i + 1 == n));
        const std::size_t legal = causal ? i + 1 : n;
        std::vector<double> w(legal);
        double sum = 0;
        for (double& x : w) sum += x = std::exp(4.0 * normal(random));
        for (std::size_t j = 0; j < legal; ++j) e.pattern[i * n + j] = static_cast<float>(w[j] / sum);
    }
    return e;
}

struct Results {
    PooledPattern pooled;
    HeadSummary summary;
};

Results run_blocks(const Example& e, std::int64_t block, bool backwards = false, bool short_rows = false) {
    Results r;
    const TextFacts facts = TextFacts::of(e.ids, e.special, e.causal);
    HeadAccumulator head(facts, r.pooled, r.summary);
    std::vector<std::int64_t> starts;
    for (std::int64_t first = 0; first < e.tokens(); first += block) starts.push_back(first);
    if (backwards) std::reverse(starts.begin(), starts.end());
    for (const std::int64_t first : starts) {
        const std::int64_t count = std::min(block, e.tokens() - first);
        const std::int64_t keys = short_rows && e.causal ? first + count : e.tokens();
        head.add_rows(e.pattern.data() + first * e.tokens(), first, count, keys, e.tokens());
    }
    return r;
}

TEST(HeadKernels, SummaryEqualsTheFormulas) {
    for (const bool causal : {true, false}) {
        for (const std::int64_t tokens : {2, 5, 17, 128, 300, 700}) {
            SCOPED_TRACE(testing::Message() << tokens << (causal ? " causal" : " both ways"));
            const Example e = make_example(tokens, causal, 7U + static_cast<unsigned>(tokens), tokens > 5 ? 40 : 2);
            const HeadSummary expected = naive_summary(e), got = run_blocks(e, 64).summary;
            if (std::isnan(expected.induction))
                EXPECT_TRUE(std::isnan(got.induction));
            else
                expect_equal(got, expected, 2e-6);
        }
    }
}

TEST(HeadKernels, PooledCellsAreMaximumAndMeanOverLegalPairs) {
    for (const bool causal : {true, false}) {
        for (const std::int64_t tokens : {3, 128, 129, 301, 1000}) {
            const Example e = make_example(tokens, causal, 3);
            const PooledPattern pooled = run_blocks(e, 96).pooled;
            const std::int64_t cells = std::min<std::int64_t>(tokens, 128);
            ASSERT_EQ(pooled.rows, cells);
            ASSERT_EQ(pooled.cols, cells);
            for (std::int64_t r = 0; r < cells; ++r) {
                for (std::int64_t c = 0; c < cells; ++c) {
                    double largest = 0, sum = 0, count = 0;
                    for (std::int64_t i = r * tokens / cells; i < (r + 1) * tokens / cells; ++i) {
                        for (std::int64_t j = c * tokens / cells; j < (c + 1) * tokens / cells; ++j) {
                            if (causal && j > i) continue;
                            largest = std::max(largest, e.p(i, j));
                            sum += e.p(i, j);
                            count += 1;
                        }
                    }
                    const auto at = static_cast<std::size_t>(r * cells + c);
                    ASSERT_EQ(static_cast<double>(pooled.max[at]), largest) << tokens << ": " << r << ", " << c;
                    ASSERT_NEAR(static_cast<double>(pooled.mean[at]), count > 0 ? sum / count : 0.0, 1e-7);
                }
            }
        }
    }
}

TEST(HeadKernels, OrderOfBlocksAndThreadsDoNotMatter) {
    const Example e = make_example(1111, true, 5);
    const Results forwards = run_blocks(e, 64), backwards = run_blocks(e, 64, true),
                  cut = run_blocks(e, 64, false, true);
    Results threaded;
    {
        const TextFacts facts = TextFacts::of(e.ids, e.special, e.causal);
        HeadAccumulator head(facts, threaded.pooled, threaded.summary);
        std::vector<std::thread> threads;
        for (std::int64_t part = 0; part < 3; ++part) {
            threads.emplace_back([&, part] {
                for (std::int64_t first = part * 64; first < e.tokens(); first += 3 * 64) {
                    head.add_rows(e.pattern.data() + first * e.tokens(), first,
                                  std::min<std::int64_t>(64, e.tokens() - first), e.tokens(), e.tokens());
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    for (const Results* other : std::initializer_list<const Results*>{&backwards, &cut, &threaded}) {
        EXPECT_EQ(forwards.pooled.max, other->pooled.max);
        EXPECT_EQ(forwards.pooled.mean, other->pooled.mean);
        expect_equal(forwards.summary, other->summary, 0.0);
    }
}

TEST(HeadKernels, ShortTextsHaveGapsNotZeros) {
    const HeadSummary causal = run_blocks(make_example(1, true, 1), 8).summary;
    EXPECT_TRUE(std::isnan(causal.entropy));
    EXPECT_TRUE(std::isnan(causal.share_self));
    EXPECT_TRUE(std::isnan(causal.max_weight));
    EXPECT_TRUE(std::isnan(causal.top1_minus_top2));
    const HeadSummary both_ways = run_blocks(make_example(1, false, 1), 8).summary;
    EXPECT_EQ(both_ways.entropy, 0.0);
    EXPECT_EQ(both_ways.share_self, 1.0);
    EXPECT_TRUE(std::isnan(both_ways.share_previous));
    EXPECT_TRUE(std::isnan(both_ways.top1_minus_top2));
    Example no_repeat = make_example(4, true, 2);
    no_repeat.ids = {1, 2, 3, 4};
    EXPECT_TRUE(std::isnan(run_blocks(no_repeat, 8).summary.induction));
}

TEST(HeadKernels, KnownHeads) {
    // tokens a b a b: row 2 repeats a, row 3 repeats b
    Example e = make_example(4, true, 1);
    e.ids = {5, 6, 5, 6};
    e.special = {false, false, false, false};
    e.pattern = {1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};  // row 2 looks at b after a, row 3 at a after b
    const HeadSummary s = run_blocks(e, 2).summary;
    EXPECT_DOUBLE_EQ(s.induction, 1.0);
    EXPECT_DOUBLE_EQ(s.duplicate_token, 0.0);
    EXPECT_DOUBLE_EQ(s.share_previous, 1.0);
    EXPECT_DOUBLE_EQ(s.mean_distance, 1.0);
    EXPECT_DOUBLE_EQ(s.entropy, 0.0);
    EXPECT_DOUBLE_EQ(s.top1_minus_top2, 1.0);
    EXPECT_NEAR(s.argmax_first, 1.0 / 3, 1e-12);
    EXPECT_DOUBLE_EQ(s.argmax_self, 0.0);
}

}  // namespace
}  // namespace headlight::trace
