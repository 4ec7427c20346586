// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/distances/head_distances.h"

#include "corpus/accumulate/archive.h"
#include "headlight/base/error.h"
#include "headlight/base/lanes.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/accumulate/examples.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace headlight::corpus {
namespace {

/// Entropy of (p + q) / 2, nats. n is a multiple of the lanes; zeros add nothing.
HEADLIGHT_WIDE double entropy_of_mean(const float* p, const float* q, std::int64_t n) {
    using namespace lanes;
    const Floats zero = {}, tiny = zero + std::numeric_limits<float>::min();
    double entropy = 0;
    for (std::int64_t start = 0; start < n; start += kChunk) {
        Floats sum = zero;
        for (std::int64_t at = start; at < std::min(n, start + kChunk); at += kLanes) {
            Floats a, b, log;
            std::memcpy(&a, p + at, sizeof a);
            std::memcpy(&b, q + at, sizeof b);
            const Floats m = (a + b) * 0.5F;
            natural_log(m > tiny ? m : tiny, log);
            sum -= m * log;
        }
        entropy += lanes_sum(sum);
    }
    return entropy;
}

std::int64_t padded(std::int64_t keys) { return (keys + lanes::kLanes - 1) / lanes::kLanes * lanes::kLanes; }

/// Rounding can give slightly less than 0.
double divergence(double of_mean, double of_p, double of_q) { return std::max(0.0, of_mean - (of_p + of_q) / 2); }

std::int64_t pair_number(std::int64_t a, std::int64_t b, std::int64_t heads) { return a * (2 * heads - a - 1) / 2 + b - a - 1; }

/// Calls fn(pair, a, b) for pairs [begin, end).
template <class Fn>
void for_pairs(std::int64_t begin, std::int64_t end, std::int64_t heads, Fn fn) {
    std::int64_t a = 0;
    while (a + 1 < heads && pair_number(a, heads - 1, heads) < begin) ++a;
    std::int64_t b = begin - pair_number(a, a + 1, heads) + a + 1;
    for (std::int64_t pair = begin; pair < end; ++pair) {
        fn(pair, a, b);
        if (++b == heads) {
            ++a;
            b = a + 1;
        }
    }
}

auto order_of(const KeptQuery& q) { return std::tuple(q.draw, q.text, q.position); }

constexpr std::int64_t kPairsAtATime = 256;

}  // namespace

double jensen_shannon(std::span<const float> p, std::span<const float> q) {
    if (p.size() != q.size())
        throw Error({.problem = "Two heads with different numbers of keys cannot be compared",
                     .expected = std::to_string(p.size()),
                     .found = std::to_string(q.size())});
    const std::int64_t n = padded(std::ssize(p));
    std::vector<float> a(static_cast<std::size_t>(n)), b = a;
    std::ranges::copy(p, a.begin());
    std::ranges::copy(q, b.begin());
    const auto entropy = [n](const std::vector<float>& x, const std::vector<float>& y) {
        return entropy_of_mean(x.data(), y.data(), n);
    };
    return divergence(entropy(a, b), entropy(a, a), entropy(b, b));
}

AccumulatorKind distances_kind() {
    return {
        .id = "distances",
        .title = "Distances between heads",
        .note =
            "Jensen-Shannon divergence of every pair of heads at 16 queries a chunk; slow above 200 heads (1,024: 2 s a chunk)",
        .usual = true,
        .of_treebank = false,
        .make =
            [](const AccumulatorContext& context) {
                return new_accumulator(HeadDistances(context.config, {.seed = context.seed}));
            },
        .open = [](const Arrays& arrays, std::uint64_t) { return new_accumulator(HeadDistances(arrays)); }};
}

HeadDistances::HeadDistances(const model::ModelConfig& c, const HeadDistancesOptions& options)
    : options_(options), layers_(c.n_layers), heads_of_layer_(c.n_heads), causal_(c.causal) {
    if (options.queries < 0)
        throw Error({.problem = "Heads cannot be compared at a negative number of queries",
                     .expected = "at least 1, or 0 for all",
                     .found = std::to_string(options.queries)});
    sums_.resize(static_cast<std::size_t>(pairs() * kSums));
}

/// The rows of a chunk at which heads are compared.
class HeadDistances::DrawnRows final : public TextPatterns {
public:
    DrawnRows(const HeadDistances& of, const TextRun& run) : of_(of) {
        const std::int64_t first = std::max<std::int64_t>(run.first_query, of.causal_ ? 1 : 0);
        positions.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, run.tokens() - first)));
        std::iota(positions.begin(), positions.end(), first);
        of_chunk = std::ssize(positions);
        const std::int64_t queries = of.options_.queries;
        if (queries > 0 && of_chunk > queries) {
            const auto drawn = [&](std::int64_t p) { return std::pair(draw(of.options_.seed, run.number, p), p); };
            std::ranges::nth_element(positions, positions.begin() + queries, {}, drawn);
            positions.resize(static_cast<std::size_t>(queries));
            std::ranges::sort(positions);
        }
        stride = padded(run.tokens());
        weights_.assign(positions.size() * static_cast<std::size_t>(of.heads() * stride), 0);
    }
    void add(HeadId head, const trace::HeadPattern& pattern) override {
        const std::int64_t number = head.layer.value * of_.heads_of_layer_ + head.head.value;
        for (std::size_t r = 0; r < positions.size(); ++r)
            std::ranges::copy(pattern.row(positions[r]),
                              weights_.begin() + (static_cast<std::int64_t>(r) * of_.heads() + number) * stride);
    }
    const float* row(std::int64_t r, std::int64_t h) const { return weights_.data() + (r * of_.heads() + h) * stride; }

    std::int64_t of_chunk = 0;            ///< queries that may be drawn
    std::vector<std::int64_t> positions;  ///< of those that are, ascending
    std::int64_t stride = 0;              ///< floats of a row: its keys, padded with zeros

private:
    const HeadDistances& of_;
    std::vector<float> weights_;  ///< [drawn query, head, key]
};

std::unique_ptr<TextPatterns> HeadDistances::patterns_of(const TextRun& run) const {
    return std::make_unique<DrawnRows>(*this, run);
}

void HeadDistances::add(const TextRun& run, TextPatterns* patterns) {
    const auto& drawn = dynamic_cast<const DrawnRows&>(*patterns);
    const auto n = std::ssize(drawn.positions);
    if (n == 0) return;
    const auto row = [&](std::int64_t r, std::int64_t h) { return drawn.row(r, h); };
    std::vector<double> entropies(static_cast<std::size_t>(n * heads()));
    at::parallel_for(0, n * heads(), kPairsAtATime, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const float* p = row(i / heads(), i % heads());
            entropies[static_cast<std::size_t>(i)] = entropy_of_mean(p, p, drawn.stride);
        }
    });
    at::parallel_for(0, pairs(), kPairsAtATime, [&](std::int64_t begin, std::int64_t end) {
        std::vector<double> sums(static_cast<std::size_t>(end - begin));
        for (std::int64_t r = 0; r < n; ++r) {
            // After a causal query there are only zeros.
            const std::int64_t keys =
                causal_ ? std::min(drawn.stride, padded(drawn.positions[static_cast<std::size_t>(r)] + 1)) : drawn.stride;
            const double* own = entropies.data() + r * heads();
            for_pairs(begin, end, heads(), [&](std::int64_t pair, std::int64_t a, std::int64_t b) {
                sums[static_cast<std::size_t>(pair - begin)] +=
                    divergence(entropy_of_mean(row(r, a), row(r, b), keys), own[a], own[b]);
            });
        }
        for (std::int64_t pair = begin; pair < end; ++pair) {
            const double sum =
                sums[static_cast<std::size_t>(pair - begin)] / static_cast<double>(n) * static_cast<double>(drawn.of_chunk);
            FixedSum* to = sums_.data() + pair * kSums;
            to[kSum].add(sum);
            to[kSquares].add(sum * sum);
            to[kProducts].add(sum * static_cast<double>(drawn.of_chunk));
        }
    });
    for (std::int64_t r = 0; r < n; ++r) {
        const std::int64_t position = drawn.positions[static_cast<std::size_t>(r)];
        KeptQuery query{.draw = draw(options_.seed, run.number, position),
                        .text = run.number,
                        .position = position,
                        .keys = causal_ ? std::min(run.tokens(), position + 1) : run.tokens(),
                        .weights = {}};
        if (std::ssize(kept_) >= options_.kept && (kept_.empty() || order_of(kept_.back()) < order_of(query))) continue;
        for (std::int64_t h = 0; h < heads(); ++h) query.weights.insert(query.weights.end(), row(r, h), row(r, h) + query.keys);
        add_in_order(kept_, {std::move(query)}, order_of, options_.kept);
    }
    ++chunks_;
    compared_ += n;
    queries_ += drawn.of_chunk;
    squares_of_queries_ += drawn.of_chunk * drawn.of_chunk;
}

void HeadDistances::stored(Archive& a) {
    a.heads("distances.heads", layers_, heads_of_layer_);
    a.sums("distances.sums", {pairs(), kSums}, sums_);
    a.counts("distances.counted", {4}, {&chunks_, &compared_, &queries_, &squares_of_queries_});
    a.rows(kept_, order_of, options_.kept, [&](StoredRows<KeptQuery>& query) {
        query
            .column<std::int64_t>("distances.kept", {}, &KeptQuery::draw, a.chunk(&KeptQuery::text),
                                  within(0, &KeptQuery::position), within(1, &KeptQuery::keys, kMostCounted / heads()))
            .ragged<float>("distances.kept_weights", {}, &KeptQuery::weights,
                           [&](const KeptQuery& q) { return heads() * q.keys; });
    });
}

template <class Fn>
Eigen::MatrixXd HeadDistances::matrix(double diagonal, Fn value) const {
    Eigen::MatrixXd out = Eigen::MatrixXd::Constant(heads(), heads(), diagonal);
    for_pairs(0, pairs(), heads(), [&](std::int64_t pair, std::int64_t a, std::int64_t b) {
        out(a, b) = out(b, a) = value(sums_.data() + pair * kSums);
    });
    return out;
}

Eigen::MatrixXd HeadDistances::means() const {
    const auto n = static_cast<double>(queries_);
    return matrix(0, [n](const FixedSum* of) { return n > 0 ? of[kSum].value() / n : kNaN; });
}

Eigen::MatrixXd HeadDistances::standard_errors() const {
    const auto n = static_cast<double>(queries_), chunks = static_cast<double>(chunks_);
    return matrix(0, [&](const FixedSum* of) {
        if (chunks_ < 2) return kNaN;
        const double mean = of[kSum].value() / n;
        const double residuals =
            of[kSquares].value() - 2 * mean * of[kProducts].value() + mean * mean * static_cast<double>(squares_of_queries_);
        return std::sqrt(std::max(0.0, residuals) * chunks / (chunks - 1)) / n;
    });
}

}  // namespace headlight::corpus
