// SPDX-License-Identifier: GPL-3.0-or-later
// What one pass over the rows of a pattern gathers, against plain double loops over the whole of it.
#include "trace/head_kernels.h"

#include "trace/overview.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <new>
#include <random>

namespace headlight::trace {
namespace head_kernels_test {

struct Example {
    PatternShape shape;
    std::vector<float> pattern;  ///< [queries, keys]
    double p(std::int64_t i, std::int64_t j) const {
        return static_cast<double>(pattern[static_cast<std::size_t>(i * shape.keys + j)]);
    }
};

Example make_example(std::int64_t tokens, bool causal, unsigned seed) {
    Example e{{tokens, tokens, false, causal, 0}, std::vector<float>(static_cast<std::size_t>(tokens * tokens))};
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (std::int64_t i = 0; i < tokens; ++i) {
        const std::int64_t legal = e.shape.legal(i).last;
        std::vector<double> w(static_cast<std::size_t>(legal));
        double sum = 0;
        for (double& x : w) sum += x = std::exp(4.0 * normal(random));
        for (std::int64_t j = 0; j < legal; ++j)
            e.pattern[static_cast<std::size_t>(i * tokens + j)] = static_cast<float>(w[static_cast<std::size_t>(j)] / sum);
    }
    return e;
}

/// What the rows bring: one sum for each field of PatternRow.
class FieldSums final : public HeadNumbers {
public:
    explicit FieldSums(std::int64_t broken = -1) : broken_(broken) {}
    std::size_t size() const noexcept override { return 7; }
    void add_row(const PatternRow& row, RowSums& sums) const override {
        if (row.query == broken_) throw std::bad_alloc();
        const double fields[] = {row.entropy,
                                 row.smoothed_entropy,
                                 row.distance,
                                 row.weighted_length,
                                 static_cast<double>(row.largest),
                                 static_cast<double>(row.second),
                                 static_cast<double>(row.weights[row.legal.last - 1])};
        for (std::size_t m = 0; m < size(); ++m) sums[m].sum += fields[m], ++sums[m].rows;
    }
    void add_columns(const float*, std::int64_t, double, RowSums&) const override {}
    void merge(RowSums& into, const RowSums& from) const override {
        for (std::size_t m = 0; m < size(); ++m) into[m].sum += from[m].sum, into[m].rows += from[m].rows;
    }
    std::vector<double> finish(const RowSums& sums, double, bool) const override {
        std::vector<double> numbers{static_cast<double>(sums[0].rows)};
        for (const RowSum& sum : sums) numbers.push_back(sum.sum);
        return numbers;
    }

private:
    std::int64_t broken_;
};

struct Results {
    PooledPattern pooled;
    GatheredNumbers numbers;
};

Results run_blocks(const PatternFacts& facts, const Example& e, std::int64_t block, const std::vector<float>& lengths = {}) {
    Results r;
    HeadAccumulator head(facts, r.pooled, r.numbers);
    if (!lengths.empty()) head.set_value_norms(lengths);
    for (std::int64_t first = 0; first < e.shape.queries; first += block)
        head.add_rows(e.pattern.data() + first * e.shape.keys, first, std::min(block, e.shape.queries - first), e.shape.keys,
                      e.shape.keys);
    return r;
}

Results run_blocks(const Example& e, std::int64_t block, const std::vector<float>& lengths = {}) {
    return run_blocks(PatternFacts(e.shape, std::make_unique<FieldSums>()), e, block, lengths);
}

TEST(HeadKernels, EveryRowComesOnceWithWhatItsWeightsGive) {
    for (const bool causal : {true, false}) {
        for (const std::int64_t tokens : {1, 5, 300}) {
            const Example e = make_example(tokens, causal, 9);
            std::vector<float> lengths;
            for (std::int64_t j = 0; j < tokens; ++j) lengths.push_back(static_cast<float>(j % 7));
            std::vector<double> usual(8), with_first(8);
            for (std::int64_t i = 0; i < tokens; ++i) {
                const std::int64_t legal = e.shape.legal(i).last;
                double fields[8] = {1};
                std::vector<double> sorted;
                for (std::int64_t j = 0; j < legal; ++j) {
                    const double p = e.p(i, j), q = 0.9999 * p + 0.0001 / static_cast<double>(legal);
                    fields[1] -= p > 0 ? p * std::log(p) : 0;
                    fields[2] -= q * std::log(q);
                    fields[3] += p * static_cast<double>(std::abs(i - j));
                    fields[4] += p * static_cast<double>(j % 7);
                    sorted.push_back(p);
                }
                std::ranges::sort(sorted, std::greater());
                fields[5] = sorted[0];
                fields[6] = sorted.size() > 1 ? sorted[1] : 0;
                fields[7] = e.p(i, legal - 1);
                for (std::size_t m = 0; m < 8; ++m) {
                    with_first[m] += fields[m];
                    if (!causal || i > 0) usual[m] += fields[m];
                }
            }
            const Results r = run_blocks(e, 64, lengths);
            for (std::size_t m = 0; m < 8; ++m) {
                EXPECT_NEAR(r.numbers.usual[m], usual[m], 1e-6 * std::max(1.0, usual[m])) << m << ", " << tokens << " tokens";
                EXPECT_NEAR(r.numbers.with_first_row[m], with_first[m], 1e-6 * std::max(1.0, with_first[m])) << m;
            }
        }
    }
}

/// Nothing that is thrown while rows are added may end the program, whichever thread it is.
TEST(HeadKernels, AnExceptionInARowArrives) {
    const std::int64_t heads = 8;
    for (const std::int64_t broken : {0, 40}) {
        const PatternFacts facts(make_example(50, true, 1).shape, std::make_unique<FieldSums>(broken));
        Overview overview(facts, heads);
        const at::Tensor tile = at::full({heads, 50, 50}, 0.02F);
        EXPECT_THROW(overview.add_tile(Layer(0), 0, 0, tile), std::bad_alloc);
    }
}

TEST(HeadKernels, PooledCellsAreMaximumAndMeanOverLegalPairs) {
    for (const bool causal : {true, false}) {
        for (const std::int64_t tokens : {3, 128, 129, 301, 1000}) {
            const Example e = make_example(tokens, causal, 3);
            const PooledPattern pooled = run_blocks(e, 96).pooled,
                                alone = run_blocks(PatternFacts(e.shape, nullptr), e, 96).pooled;
            EXPECT_EQ(alone.max, pooled.max) << "without the numbers of heads";
            EXPECT_EQ(alone.mean, pooled.mean) << "without the numbers of heads";
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

/// Sums of weights at each distance.
class DistanceSums final : public HeadNumbers {
public:
    DistanceSums(std::int64_t queries, model::KeyRange wanted) : queries_(queries), wanted_(wanted) {}
    std::size_t size() const noexcept override { return static_cast<std::size_t>(wanted_.count()); }
    void add_row(const PatternRow&, RowSums&) const override {}
    void add_columns(const float*, std::int64_t, double, RowSums&) const override {}
    model::KeyRange distances() const override { return wanted_; }
    void add_diagonals(const float* diagonals, RowSums& sums) const override {
        for (std::size_t m = 0; m < size(); ++m)
            sums[m].sum += static_cast<double>(diagonals[queries_ - 1 - wanted_.first - static_cast<std::int64_t>(m)]);
    }
    void merge(RowSums& into, const RowSums& from) const override {
        for (std::size_t m = 0; m < size(); ++m) into[m].sum += from[m].sum;
    }
    std::vector<double> finish(const RowSums& sums, double, bool) const override {
        std::vector<double> numbers;
        for (const RowSum& sum : sums) numbers.push_back(sum.sum);
        return numbers;
    }

private:
    std::int64_t queries_;
    model::KeyRange wanted_;
};

TEST(HeadKernels, DiagonalsAreSumsOverTheRowsThatCount) {
    for (const bool causal : {true, false})
        for (const std::int64_t tokens : {1, 5, 40, 300})
            for (const model::KeyRange wanted : {model::KeyRange{0, tokens}, model::KeyRange{3, 38}})
                for (const std::int64_t window : {0, 17})
                    for (const std::int64_t counted : {0, 4})
                        for (const bool pooled : {true, false}) {
                            if (wanted.last > tokens || counted >= tokens) continue;
                            SCOPED_TRACE(testing::Message() << tokens << " tokens, window " << window << ", from " << counted);
                            Example e = make_example(tokens, causal, 5);
                            e.shape.window = window;
                            e.shape.first_counted = counted;
                            std::vector<double> expected(static_cast<std::size_t>(wanted.count()));
                            for (std::int64_t i = std::max(counted, std::int64_t{causal}); i < tokens; ++i)
                                for (std::int64_t j = e.shape.legal(i).first; j <= i; ++j)
                                    if (wanted.has(i - j)) expected[static_cast<std::size_t>(i - j - wanted.first)] += e.p(i, j);
                            PatternFacts facts(e.shape, std::make_unique<DistanceSums>(tokens, wanted));
                            facts.pooled = pooled;
                            for (const std::int64_t block : {64, 7}) {
                                const Results r = run_blocks(facts, e, block);
                                ASSERT_EQ(r.numbers.usual.size(), expected.size());
                                for (std::size_t m = 0; m < expected.size(); ++m)
                                    EXPECT_NEAR(r.numbers.usual[m], expected[m], 1e-6 * std::max(1.0, expected[m])) << m;
                            }
                        }
}

}  // namespace head_kernels_test
}  // namespace headlight::trace
