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

int order_of(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

double spearman(std::span<const double> x, std::span<const double> y) {
    const auto [a, b] = complete(x, y);
    if (a.size() < 2) return kNaN;
    return pearson(ranks(a), ranks(b));
}

double kendall(std::span<const double> x, std::span<const double> y) {
    const auto [a, b] = complete(x, y);
    double both = 0, x_differs = 0, y_differs = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            const int dx = order_of(a[i], a[j]), dy = order_of(b[i], b[j]);
            both += dx * dy;
            x_differs += dx != 0;
            y_differs += dy != 0;
        }
    return x_differs > 0 && y_differs > 0 ? both / std::sqrt(x_differs * y_differs) : kNaN;
}

}  // namespace headlight::analyze
