// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/quality/quality.h"

#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/base/lanes.h"
#include "headlight/base/numbers.h"
#include "model/arithmetic/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::map {
namespace {

namespace kernels = model::kernels;

/// Indices of the k smallest, ties by index; `skip` is not one of them.
template <class Number>
std::vector<std::int64_t> smallest(std::span<const Number> far, std::int64_t k, std::int64_t skip) {
    std::vector<std::int64_t> order;
    order.reserve(far.size());
    for (std::int64_t j = 0; j < std::ssize(far); ++j)
        if (j != skip) order.push_back(j);
    const auto before = [&](std::int64_t a, std::int64_t b) {
        const Number x = far[static_cast<std::size_t>(a)], y = far[static_cast<std::size_t>(b)];
        return x != y ? x < y : a < b;
    };
    k = std::min(k, std::ssize(order));
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    order.resize(static_cast<std::size_t>(k));
    return order;
}

/// Sum over the neighbours of one space of how far beyond rank k they are in the other. The point itself is infinitely far.
double beyond(const std::vector<std::int64_t>& neighbours, std::span<const float> other, std::int64_t k) {
    double sum = 0;
    for (const std::int64_t j : neighbours) {
        const float mine = other[static_cast<std::size_t>(j)];
        const std::int64_t before = j - kernels::count_above(other.data(), j, mine) +
                                    kernels::count_below(other.data() + j + 1, std::ssize(other) - j - 1, mine);
        sum += static_cast<double>(std::max<std::int64_t>(0, before + 1 - k));
    }
    return sum;
}

/// Squared distances from one row to all.
HEADLIGHT_WIDE void distances_from(const float* row, const float* all, std::int64_t count, std::int64_t width, float* out) {
    using lanes::Floats;
    using lanes::kLanes;
    for (std::int64_t j = 0; j < count; ++j) {
        const float* other = all + j * width;
        Floats sum = {};
        std::int64_t c = 0;
        for (; c + kLanes <= width; c += kLanes) {
            Floats a, b;
            std::memcpy(&a, row + c, sizeof a);
            std::memcpy(&b, other + c, sizeof b);
            sum += (a - b) * (a - b);
        }
        float total = 0;
        for (; c < width; ++c) total += (row[c] - other[c]) * (row[c] - other[c]);
        for (int k = 0; k < kLanes; ++k) total += sum[k];
        out[j] = total;
    }
}

Farness distances_of(const Rows& rows) {
    return [rows](std::int64_t i, std::span<float> out) {
        distances_from(rows.row(i), rows.values.data(), rows.count, rows.width, out.data());
    };
}

}  // namespace

RankQuality rank_quality(std::int64_t rows, std::int64_t count, bool own, std::int64_t k, const Farness& original,
                         const Farness& picture, std::int64_t at_most, const CancelToken& cancel) {
    const std::int64_t others = own ? count - 1 : count;
    k = std::min(k, others / 2);
    if (k < 1 || rows < 1 || (own && count < 4)) return {kNaN, kNaN};
    const std::int64_t used = std::min(rows, at_most);
    std::vector<float> there(static_cast<std::size_t>(count)), here(there.size());
    RankQuality sum;
    for (std::int64_t r = 0; r < used; ++r) {
        cancel.throw_if_cancelled();
        const std::int64_t i = r * rows / used, skip = own ? i : -1;
        original(i, there);
        picture(i, here);
        if (own) there[static_cast<std::size_t>(i)] = here[static_cast<std::size_t>(i)] = std::numeric_limits<float>::infinity();
        sum.trustworthiness += beyond(smallest<float>(here, k, skip), there, k);
        sum.continuity += beyond(smallest<float>(there, k, skip), here, k);
    }
    // The largest sum that a row can have: k neighbours at the last k ranks. With n = others + 1 this is k (2n - 3k - 1) / 2.
    const double worst = static_cast<double>(used * k) * static_cast<double>(2 * (others + 1) - 3 * k - 1) / 2;
    return {1 - sum.trustworthiness / worst, 1 - sum.continuity / worst};
}

RankQuality rank_quality(const Rows& original, const Rows& picture, std::int64_t k, std::int64_t rows,
                         const CancelToken& cancel) {
    return rank_quality(original.count, original.count, true, k, distances_of(original), distances_of(picture), rows, cancel);
}

std::vector<float> kept_neighbours(const NeighbourLists& original, const NeighbourLists& picture) {
    std::vector<float> out(static_cast<std::size_t>(original.count));
    for (std::int64_t i = 0; i < original.count && original.each > 0; ++i) {
        const auto begin = picture.index.begin() + i * picture.each, end = begin + picture.each;
        std::int64_t kept = 0;
        for (std::int64_t e = 0; e < original.each; ++e)
            kept += std::find(begin, end, original.index[static_cast<std::size_t>(i * original.each + e)]) != end ? 1 : 0;
        out[static_cast<std::size_t>(i)] = static_cast<float>(kept) / static_cast<float>(original.each);
    }
    return out;
}

Faithfulness faithfulness(const MapVectors& vectors, const HeadVectors& head, const std::vector<float>& points, int dims,
                          const CancelToken& cancel) {
    constexpr std::size_t kNear = 10;
    const Rows queries = head.query_rows(), keys = head.key_rows();
    const MapTokens& key_tokens = vectors.key_tokens();
    const std::vector<TokenRange> ranges = text_ranges(key_tokens);
    double correlations = 0, nears = 0;
    std::int64_t correlated = 0, counted = 0;
    std::vector<double> score, far;
    for (std::int64_t i = 0; i < queries.count; ++i) {
        if (vectors.tokens.apart[static_cast<std::size_t>(i)]) continue;
        if (i % 64 == 0) cancel.throw_if_cancelled();
        const TokenRange legal = legal_keys(vectors, head, ranges, i);
        score.clear();
        far.clear();
        for (std::int64_t j = legal.first; j < legal.second; ++j) {
            if (key_tokens.apart[static_cast<std::size_t>(j)]) continue;
            double square = 0;
            for (int d = 0; d < dims; ++d) {
                const double between = static_cast<double>(points[static_cast<std::size_t>(i * dims + d)]) -
                                       static_cast<double>(points[static_cast<std::size_t>((queries.count + j) * dims + d)]);
                square += between * between;
            }
            score.push_back(product_of(queries.row(i), keys.row(j), head.width) * head.score_scale);
            far.push_back(square);
        }
        if (score.size() >= 3) {
            const double value = -analyze::spearman(score, far);
            if (std::isfinite(value)) {
                correlations += value;
                ++correlated;
            }
        }
        if (score.size() > kNear) {
            const double most = *std::max_element(score.begin(), score.end());
            double all = 0, near = 0;
            for (double& value : score) all += value = std::exp(value - most);
            for (const std::int64_t j : smallest<double>(far, kNear, -1)) near += score[static_cast<std::size_t>(j)];
            nears += near / all;
            ++counted;
        }
    }
    return {correlated > 0 ? correlations / static_cast<double>(correlated) : kNaN,
            counted > 0 ? nears / static_cast<double>(counted) : kNaN};
}

}  // namespace headlight::map
