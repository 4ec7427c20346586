// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/projection/affinities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace headlight::map {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

/// Entropy in nats of exp(-beta x), normalised into p; x from its smallest, which is 0.
double entropy_at(double beta, std::span<const double> x, std::span<double> p) {
    double sum = 0, moment = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
        p[j] = std::exp(-beta * x[j]);
        sum += p[j];
        moment += p[j] * x[j];
    }
    for (double& each : p) each /= sum;
    return std::log(sum) + beta * moment / sum;
}

struct Entry {
    std::int32_t to;
    float weight;
};

struct Directed {
    std::vector<std::int64_t> first;
    std::vector<Entry> entries;
};

/// Rows of all lists one after another, columns in order.
Directed directed(const std::vector<WeightedLists>& all, std::int64_t count) {
    Directed out;
    out.first.assign(static_cast<std::size_t>(count) + 1, 0);
    for (const WeightedLists& part : all)
        for (std::int64_t i = 0; i < part.lists.count; ++i)
            out.first[static_cast<std::size_t>(part.first_row + i) + 1] += part.lists.each;
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
    out.entries.resize(static_cast<std::size_t>(out.first.back()));
    for (std::int64_t i = 0; i < count; ++i) {
        const auto begin = out.entries.begin() + out.first[static_cast<std::size_t>(i)];
        auto at = begin;
        for (const WeightedLists& part : all) {
            const std::int64_t row = i - part.first_row;
            for (std::int64_t e = 0; row >= 0 && row < part.lists.count && e < part.lists.each; ++e) {
                const auto from = static_cast<std::size_t>(row * part.lists.each + e);
                *at++ = {part.lists.index[from], part.weight[from]};
            }
        }
        std::sort(begin, at, [](const Entry& a, const Entry& b) { return a.to < b.to; });
    }
    return out;
}

Directed transposed(const Directed& a, std::int64_t count) {
    Directed out;
    out.first.assign(static_cast<std::size_t>(count) + 1, 0);
    for (const Entry& entry : a.entries) ++out.first[static_cast<std::size_t>(entry.to) + 1];
    std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
    std::vector<std::int64_t> next(out.first.begin(), out.first.end() - 1);
    out.entries.resize(a.entries.size());
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t e = a.first[static_cast<std::size_t>(i)]; e < a.first[static_cast<std::size_t>(i) + 1]; ++e) {
            const Entry& entry = a.entries[static_cast<std::size_t>(e)];
            out.entries[static_cast<std::size_t>(next[static_cast<std::size_t>(entry.to)]++)] = {static_cast<std::int32_t>(i),
                                                                                                 entry.weight};
        }
    return out;
}

template <class Combine>
Graph symmetric(const std::vector<WeightedLists>& all, std::int64_t count, const Combine& combine) {
    const Directed there = directed(all, count), back = transposed(there, count);
    Graph graph;
    graph.count = count;
    graph.first.push_back(0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        std::int64_t a = there.first[i], b = back.first[i];
        const std::int64_t a_end = there.first[i + 1], b_end = back.first[i + 1];
        while (a < a_end || b < b_end) {
            constexpr auto kNone = std::numeric_limits<std::int32_t>::max();
            const std::int32_t to_a = a < a_end ? there.entries[static_cast<std::size_t>(a)].to : kNone;
            const std::int32_t to_b = b < b_end ? back.entries[static_cast<std::size_t>(b)].to : kNone;
            const std::int32_t to = std::min(to_a, to_b);
            const double x = to_a == to ? static_cast<double>(there.entries[static_cast<std::size_t>(a++)].weight) : 0;
            const double y = to_b == to ? static_cast<double>(back.entries[static_cast<std::size_t>(b++)].weight) : 0;
            graph.to.push_back(to);
            graph.weight.push_back(static_cast<float>(combine(x, y)));
        }
        graph.first.push_back(std::ssize(graph.to));
    }
    return graph;
}

}  // namespace

Calibrated calibrated(std::span<const float> x, std::int64_t count, std::int64_t each, double perplexity) {
    Calibrated out{std::vector<double>(static_cast<std::size_t>(count), 1),
                   std::vector<float>(static_cast<std::size_t>(count * each))};
    const double wanted = std::log(perplexity);
    std::vector<double> row(static_cast<std::size_t>(each)), p(row.size());
    for (std::int64_t i = 0; i < count && each > 0; ++i) {
        const float* from = x.data() + i * each;
        for (std::int64_t j = 0; j < each; ++j)
            row[static_cast<std::size_t>(j)] = static_cast<double>(from[j]) - static_cast<double>(from[0]);
        // In units of the mean exponent, so that the search starts near the solution at any scale.
        const double unit = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(each);
        if (unit > 0)
            for (double& value : row) value /= unit;
        double beta = 1, low = 0, high = kEndless;
        for (int step = 0; step < 100; ++step) {
            const double excess = entropy_at(beta, row, p) - wanted;
            if (std::abs(excess) < 1e-9) break;
            (excess > 0 ? low : high) = beta;
            beta = high == kEndless ? beta * 2 : (low + high) / 2;
        }
        out.beta[static_cast<std::size_t>(i)] = unit > 0 ? beta / unit : beta;
        std::copy(p.begin(), p.end(), out.p.begin() + i * each);
    }
    return out;
}

Membership membership(const NeighbourLists& lists) {
    const auto rows = static_cast<std::size_t>(lists.count), each = static_cast<std::size_t>(lists.each);
    Membership out{std::vector<double>(rows), std::vector<double>(rows), std::vector<float>(rows * each)};
    constexpr double kFloor = 1e-3;  // of the mean distance, which counts the point itself as umap-learn does
    const double total = std::accumulate(lists.distance.begin(), lists.distance.end(), 0.0);
    const double mean_of_all = total / static_cast<double>(std::max<std::size_t>(1, rows * (each + 1)));
    const double wanted = std::log2(static_cast<double>(each + 1));
    for (std::size_t i = 0; i < rows; ++i) {
        const float* d = lists.distance.data() + i * each;
        const float* nearest = std::find_if(d, d + each, [](float v) { return v > 0; });
        const double rho = nearest == d + each ? 0 : static_cast<double>(*nearest);
        double low = 0, high = kEndless, sigma = 1;
        for (int step = 0; step < 64; ++step) {
            double sum = 0;
            for (std::size_t j = 0; j < each; ++j) {
                const double beyond = static_cast<double>(d[j]) - rho;
                sum += beyond > 0 ? std::exp(-beyond / sigma) : 1;
            }
            if (std::abs(sum - wanted) < 1e-5) break;
            (sum > wanted ? high : low) = sigma;
            sigma = high == kEndless ? sigma * 2 : (low + high) / 2;
        }
        const double mean = rho > 0 ? std::accumulate(d, d + each, 0.0) / static_cast<double>(each + 1) : mean_of_all;
        sigma = std::max(sigma, kFloor * mean);
        for (std::size_t j = 0; j < each; ++j) {
            const double beyond = static_cast<double>(d[j]) - rho;
            out.strength[i * each + j] = beyond <= 0 || sigma == 0 ? 1.0F : static_cast<float>(std::exp(-beyond / sigma));
        }
        out.sigma[i] = sigma;
        out.rho[i] = rho;
    }
    return out;
}

Graph joint_probabilities(const std::vector<WeightedLists>& all, std::int64_t count) {
    double total = 0;
    for (const WeightedLists& part : all) total = std::accumulate(part.weight.begin(), part.weight.end(), total);
    const double scale = total > 0 ? 0.5 / total : 0;
    return symmetric(all, count, [scale](double a, double b) { return (a + b) * scale; });
}

Graph fuzzy_union(const std::vector<WeightedLists>& all, std::int64_t count) {
    return symmetric(all, count, [](double a, double b) { return a + b - a * b; });
}

}  // namespace headlight::map
