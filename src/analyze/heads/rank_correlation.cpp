// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/rank_correlation.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace headlight::analyze {
namespace {

using Values = std::vector<double>;

std::pair<Values, Values> complete(std::span<const double> x, std::span<const double> y) {
    std::pair<Values, Values> out;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
        if (!std::isnan(x[i]) && !std::isnan(y[i])) {
            out.first.push_back(x[i]);
            out.second.push_back(y[i]);
        }
    return out;
}

Values ranks(const Values& x) {
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] < x[b]; });
    Values rank(x.size());
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i;
        while (end < order.size() && x[order[end]] == x[order[i]]) ++end;
        for (std::size_t k = i; k < end; ++k) rank[order[k]] = 0.5 * static_cast<double>(i + end - 1);
        i = end;
    }
    return rank;
}

double pearson(const Values& x, const Values& y) {
    const auto n = static_cast<double>(x.size());
    const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n, my = std::accumulate(y.begin(), y.end(), 0.0) / n;
    double xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += (x[i] - mx) * (y[i] - my);
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNaN;
}

double pairs_among(std::size_t n) { return 0.5 * static_cast<double>(n) * (static_cast<double>(n) - 1); }

/// Pairs of equal ones, which stand together.
template <class T, class Equal>
double tied(const std::vector<T>& in_order, const Equal& equal) {
    double pairs = 0;
    for (std::size_t i = 0; i < in_order.size();) {
        std::size_t end = i + 1;
        while (end < in_order.size() && equal(in_order[end], in_order[i])) ++end;
        pairs += pairs_among(end - i);
        i = end;
    }
    return pairs;
}

/// Pairs of which the first is the larger one, counted while they are merged into order (Knight 1966).
double inversions(Values& values) {
    double count = 0;
    Values merged(values.size());
    for (std::size_t half = 1; half < values.size(); half *= 2) {
        for (std::size_t first = 0; first < values.size(); first += 2 * half) {
            const std::size_t middle = std::min(first + half, values.size()), end = std::min(first + 2 * half, values.size());
            for (std::size_t i = first, j = middle, to = first; to < end; ++to) {
                if (i < middle && (j == end || values[i] <= values[j])) {
                    merged[to] = values[i++];
                } else {
                    merged[to] = values[j++];
                    count += static_cast<double>(middle - i);
                }
            }
        }
        values.swap(merged);
    }
    return count;
}

}  // namespace

double spearman(std::span<const double> x, std::span<const double> y) {
    const auto [a, b] = complete(x, y);
    if (a.size() < 2) return kNaN;
    return pearson(ranks(a), ranks(b));
}

double kendall(std::span<const double> x, std::span<const double> y) {
    const auto [a, b] = complete(x, y);
    std::vector<std::size_t> order(a.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t i, std::size_t j) { return std::pair(a[i], b[i]) < std::pair(a[j], b[j]); });
    Values sorted;
    for (const std::size_t i : order) sorted.push_back(b[i]);
    const double all = pairs_among(a.size());
    const double same_x = tied(order, [&](std::size_t i, std::size_t j) { return a[i] == a[j]; });
    const double same_both = tied(order, [&](std::size_t i, std::size_t j) { return a[i] == a[j] && b[i] == b[j]; });
    const double against = inversions(sorted);  // sorts
    const double same_y = tied(sorted, [](double v, double w) { return v == w; });
    const double x_differs = all - same_x, y_differs = all - same_y;
    const double with = all - same_x - same_y + same_both - against;
    return x_differs > 0 && y_differs > 0 ? (with - against) / std::sqrt(x_differs * y_differs) : kNaN;
}

}  // namespace headlight::analyze
