// SPDX-License-Identifier: GPL-3.0-or-later
// The one-pass kernels against plain double loops over the whole pattern.
#include "trace/head_kernels.h"

#include "tests/trace/naive_summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

namespace headlight::trace {
namespace head_kernels_test {

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
        e.punctuation.period_or_comma.push_back(random() % 5 == 0);
        e.punctuation.any.push_back(e.punctuation.period_or_comma.back() || random() % 7 == 0);
        e.value_norms.push_back(static_cast<float>(random() % 1000) / 300.0F);
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
    HeadSummaries summaries;
    HeadSummary& summary = summaries.usual;
};

Results run_blocks(const Example& e, std::int64_t block, bool backwards = false, bool short_rows = false) {
    Results r;
    const TextFacts facts = TextFacts::of(e.ids, e.special, e.causal, e.punctuation);
    HeadAccumulator head(facts, r.pooled, r.summaries);
    if (!e.value_norms.empty()) head.set_value_norms(e.value_norms);
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
            const Results got = run_blocks(e, 64);
            expect_equal(got.summaries.usual, naive_summary(e), 2e-6);
            expect_equal(got.summaries.with_first_row, naive_summary(e, true), 2e-6);
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
    const Results forwards = run_blocks(e, 64), backwards = run_blocks(e, 64, true), cut = run_blocks(e, 64, false, true);
    Results threaded;
    {
        const TextFacts facts = TextFacts::of(e.ids, e.special, e.causal, e.punctuation);
        HeadAccumulator head(facts, threaded.pooled, threaded.summaries);
        head.set_value_norms(e.value_norms);
        std::vector<std::thread> threads;
        for (std::int64_t part = 0; part < 3; ++part) {
            threads.emplace_back([&, part] {
                for (std::int64_t first = part * 64; first < e.tokens(); first += 3 * 64) {
                    head.add_rows(e.pattern.data() + first * e.tokens(), first, std::min<std::int64_t>(64, e.tokens() - first),
                                  e.tokens(), e.tokens());
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

TEST(HeadKernels, WithTheFirstRowOneTokenLooksAtItself) {
    const HeadSummary s = run_blocks(make_example(1, true, 1), 8).summaries.with_first_row;
    EXPECT_EQ(s.entropy, 0.0);
    EXPECT_EQ(s.entropy_uniform, 0.0);
    EXPECT_EQ(s.share_self, 1.0);
    EXPECT_TRUE(std::isnan(s.share_previous));
    EXPECT_TRUE(std::isnan(s.previous_token));
    EXPECT_TRUE(std::isnan(s.top1_minus_top2));
}

/// Both ways, four keys, every row the same.
Example four_keys(const std::vector<float>& row) {
    Example e;
    e.causal = false;
    e.ids = {1, 2, 3, 4};
    e.special = {false, false, false, false};
    for (int i = 0; i < 4; ++i) e.pattern.insert(e.pattern.end(), row.begin(), row.end());
    return e;
}

TEST(HeadKernels, SmoothedEntropyOfOneHotAndUniformRows) {
    EXPECT_NEAR(run_blocks(four_keys({0, 1, 0, 0}), 4).summary.entropy_smoothed, 0.000869745, 1e-7);
    const HeadSummary uniform = run_blocks(four_keys({0.25F, 0.25F, 0.25F, 0.25F}), 4).summary;
    EXPECT_NEAR(uniform.entropy, std::log(4.0), 1e-6);
    EXPECT_NEAR(uniform.entropy_smoothed, std::log(4.0), 1e-6);
    EXPECT_DOUBLE_EQ(uniform.entropy_uniform, std::log(4.0));
}

TEST(HeadKernels, NextTokenHeadDividesByAllTokens) {
    Example e = four_keys({0, 0, 0, 0});
    for (const std::size_t i : {0U, 1U, 2U}) e.pattern[i * 4 + i + 1] = 1;
    e.pattern[15 - 3] = 1;  // the last row looks at the first token
    const HeadSummary s = run_blocks(e, 2).summary;
    EXPECT_DOUBLE_EQ(s.share_next, 0.75);
    EXPECT_DOUBLE_EQ(s.share_self, 0.0);
    EXPECT_DOUBLE_EQ(s.previous_token, 0.0);
}

TEST(HeadKernels, SeparatorsCountAsManyAsThereAre) {
    // [CLS] a [SEP] b [SEP]: separators look at separators, the others at [CLS]
    Example e;
    e.causal = false;
    e.ids = {1, 5, 2, 6, 2};
    e.special = {true, false, true, false, true};
    e.pattern.assign(25, 0.0F);
    for (const std::size_t i : {2U, 4U}) e.pattern[i * 5 + 2] = e.pattern[i * 5 + 4] = 0.5F;
    for (const std::size_t i : {0U, 1U, 3U}) e.pattern[i * 5] = 1;
    const HeadSummary s = run_blocks(e, 3).summary;
    EXPECT_DOUBLE_EQ(s.sep_to_sep, 1.0);
    EXPECT_DOUBLE_EQ(s.other_to_sep, 0.0);
    EXPECT_DOUBLE_EQ(s.share_sep, 0.4);
    EXPECT_DOUBLE_EQ(s.share_cls, 0.6);
    EXPECT_TRUE(std::isnan(s.vw_share_first)) << "no values are known";
    Example only_special = four_keys({0.5F, 0.5F, 0, 0});
    only_special.special = {true, true, true, true};
    EXPECT_DOUBLE_EQ(run_blocks(only_special, 4).summary.share_special, 1.0);
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

}  // namespace head_kernels_test
}  // namespace headlight::trace
