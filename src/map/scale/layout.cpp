// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/scale/layout.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headlight::map {
namespace {

bool any_counts(const std::vector<std::uint8_t>& apart) { return std::count(apart.begin(), apart.end(), 0) > 0; }

double mean_norm(const Rows& rows, const std::vector<std::uint8_t>& apart) {
    const bool all = !any_counts(apart);
    double sum = 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        if (!all && apart[static_cast<std::size_t>(i)]) continue;
        sum += norm_of(rows.row(i), rows.width);
        ++count;
    }
    return count > 0 ? sum / static_cast<double>(count) : 0;
}

std::vector<double> mean_row(const Rows& rows, const std::vector<std::uint8_t>& apart) {
    const bool all = !any_counts(apart);
    std::vector<double> mean(static_cast<std::size_t>(rows.width));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        if (!all && apart[static_cast<std::size_t>(i)]) continue;
        ++count;
        for (std::int64_t c = 0; c < rows.width; ++c) mean[static_cast<std::size_t>(c)] += static_cast<double>(rows.row(i)[c]);
    }
    for (double& value : mean) value /= static_cast<double>(std::max<std::int64_t>(1, count));
    return mean;
}

/// What is added to a key that was divided by c.
std::vector<double> key_move(const MapVectors& vectors, const HeadVectors& head, double c) {
    std::vector<double> move = mean_row(head.query_rows(), vectors.tokens.apart);
    const std::vector<double> keys = mean_row(head.key_rows(), vectors.key_tokens().apart);
    for (std::size_t k = 0; k < move.size(); ++k) move[k] = move[k] * c - keys[k] / c;
    return move;
}

/// Exponents of t-SNE: differences of scores as they are, distances squared.
std::vector<float> exponents(const Neighbourhood& near) {
    std::vector<float> x = near.lists.distance;
    if (!near.products)
        for (float& value : x) value *= value;
    return x;
}

}  // namespace

double perplexity_of(const MapOptions& options) noexcept {
    if (options.perplexity > 0) return options.perplexity;
    return options.preset == Preset::cosine ? 50 : 30;
}

double norm_scale(const MapVectors& vectors, const HeadVectors& head) {
    const double q = mean_norm(head.query_rows(), vectors.tokens.apart),
                 k = mean_norm(head.key_rows(), vectors.key_tokens().apart);
    return q > 0 && k > 0 ? std::sqrt(k / q) : 1;
}

double weighted_correlation(std::span<const double> x, std::span<const double> y, std::span<const double> w) {
    double total = 0, mean_x = 0, mean_y = 0, xy = 0, xx = 0, yy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        total += w[i];
        mean_x += w[i] * x[i];
        mean_y += w[i] * y[i];
    }
    mean_x /= total;
    mean_y /= total;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xy += w[i] * (x[i] - mean_x) * (y[i] - mean_y);
        xx += w[i] * (x[i] - mean_x) * (x[i] - mean_x);
        yy += w[i] * (y[i] - mean_y) * (y[i] - mean_y);
    }
    return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kNaN;
}

ScaleSearch search_scale(const MapVectors& vectors, const HeadVectors& head) {
    constexpr double kGrid[] = {0.2, 0.4, 0.8, 1, 1.25, 2.5, 5}, kShare = 0.005;
    constexpr std::size_t kPairs = 30;
    const Rows queries = head.query_rows(), keys = head.key_rows();
    const MapTokens& of_keys = vectors.key_tokens();
    const std::vector<TokenRange> ranges = text_ranges(of_keys);
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t i = 0; i < queries.count; ++i) {
        const TokenRange legal = legal_keys(vectors, head, ranges, i);
        for (std::int64_t j = legal.first; j < legal.second; ++j)
            if (!vectors.tokens.apart[static_cast<std::size_t>(i)] && !of_keys.apart[static_cast<std::size_t>(j)])
                pairs.emplace_back(i, j);
    }
    ScaleSearch out;
    double lowest = 2;
    for (const double c : kGrid) {
        const std::vector<double> move = key_move(vectors, head, c);
        std::vector<double> dot(pairs.size()), distance(pairs.size());
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const float *q = queries.row(pairs[p].first), *k = keys.row(pairs[p].second);
            double product = 0, square = 0;
            for (std::int64_t n = 0; n < head.width; ++n) {
                const double a = static_cast<double>(q[n]), b = static_cast<double>(k[n]);
                const double between = c * a - b / c - move[static_cast<std::size_t>(n)];
                product += a * b;
                square += between * between;
            }
            dot[p] = product;
            distance[p] = std::sqrt(square);
        }
        std::vector<double> x, y, w;
        if (!pairs.empty()) {
            std::vector<double> sorted = distance;
            const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(kShare * static_cast<double>(sorted.size() - 1));
            std::nth_element(sorted.begin(), at, sorted.end());
            for (std::size_t p = 0; p < pairs.size(); ++p)
                if (distance[p] < *at) {
                    x.push_back(dot[p]);
                    y.push_back(distance[p]);
                    w.push_back((*at - distance[p]) * (*at - distance[p]));
                }
        }
        const double correlation = x.size() < kPairs ? kNaN : weighted_correlation(x, y, w);
        out.tried.push_back({c, correlation});
        if (correlation < lowest) {
            lowest = correlation;
            out.c = c;
        }
    }
    if (lowest > 1) out.c = norm_scale(vectors, head);
    return out;
}

std::vector<float> Placed::counted_points() const { return chosen_rows(rows(), counted); }

Metric metric_of(Preset preset) noexcept { return preset == Preset::cosine ? Metric::cosine : Metric::euclidean; }

Scaling scaling_of(const MapVectors& vectors, const HeadVectors& head, const MapOptions& options) {
    const double c = options.preset == Preset::cosine       ? 1
                     : options.scale == ScaleChoice::search ? search_scale(vectors, head).c
                                                            : norm_scale(vectors, head);
    return {c, key_move(vectors, head, c)};
}

std::vector<float> scaled_points(const HeadVectors& head, const Scaling& scaling) {
    const Rows queries = head.query_rows(), keys = head.key_rows();
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>((queries.count + keys.count) * head.width));
    for (const float value : queries.values) out.push_back(static_cast<float>(static_cast<double>(value) * scaling.c));
    for (std::int64_t j = 0; j < keys.count; ++j)
        for (std::int64_t n = 0; n < head.width; ++n)
            out.push_back(
                static_cast<float>(static_cast<double>(keys.row(j)[n]) / scaling.c + scaling.move[static_cast<std::size_t>(n)]));
    return out;
}

std::vector<std::uint8_t> apart_of(const MapVectors& vectors, const MapOptions& options) {
    std::vector<std::uint8_t> apart = vectors.tokens.apart;
    apart.insert(apart.end(), vectors.key_tokens().apart.begin(), vectors.key_tokens().apart.end());
    if (options.with_apart || !any_counts(apart)) std::fill(apart.begin(), apart.end(), std::uint8_t{0});
    return apart;
}

Placed placed(const MapVectors& vectors, const HeadVectors& head, const MapOptions& options) {
    const Scaling scaling = scaling_of(vectors, head, options);
    Placed out;
    out.queries = head.query_rows().count;
    out.width = head.width;
    out.metric = metric_of(options.preset);
    out.c = static_cast<float>(scaling.c);
    out.apart = apart_of(vectors, options);
    out.points = scaled_points(head, scaling);
    for (std::size_t i = 0; i < out.apart.size(); ++i) {
        if (out.apart[i]) continue;
        out.counted.push_back(static_cast<std::int32_t>(i));
        if (static_cast<std::int64_t>(i) < out.queries) ++out.counted_queries;
    }
    return out;
}

std::vector<Neighbourhood> neighbourhoods(const Placed& all, const HeadVectors& head, Preset preset, std::int64_t each,
                                          const CancelToken& cancel) {
    std::vector<Neighbourhood> out;
    const std::vector<float> points = all.counted_points();
    const std::int64_t q = all.counted_queries, k = std::ssize(all.counted) - q;
    if (preset != Preset::scores) {
        out.push_back({nearest_rows({points, q + k, all.width}, each, all.metric, cancel)});
        return out;
    }
    const std::span<const std::int32_t> counted(all.counted);
    std::vector<std::int32_t> key_numbers;
    for (const std::int32_t i : counted.subspan(static_cast<std::size_t>(q)))
        key_numbers.push_back(i - static_cast<std::int32_t>(all.queries));
    const std::vector<float> queries = chosen_rows(head.query_rows(), counted.first(static_cast<std::size_t>(q))),
                             keys = chosen_rows(head.key_rows(), key_numbers);
    const Rows query_rows{queries, q, all.width}, key_rows{keys, k, all.width};
    const auto later = [q](NeighbourLists lists) {
        for (std::int32_t& index : lists.index) index += static_cast<std::int32_t>(q);
        return lists;
    };
    out.push_back({later(largest_products(query_rows, key_rows, each, cancel)), 0, true});
    out.push_back({largest_products(key_rows, query_rows, each, cancel), q, true});
    out.push_back({nearest_rows(query_rows, each, Metric::euclidean, cancel), 0});
    out.push_back({later(nearest_rows(key_rows, each, Metric::euclidean, cancel)), q});
    return out;
}

Graph graph_of(const Placed& all, const HeadVectors& head, const MapOptions& options, const CancelToken& cancel) {
    const auto count = std::ssize(all.counted);
    std::vector<WeightedLists> weighted;
    if (options.projection == Projection::umap) {
        for (Neighbourhood& near : neighbourhoods(all, head, options.preset, options.neighbours - 1, cancel)) {
            Membership strengths = membership(near.lists);
            weighted.push_back({std::move(near.lists), std::move(strengths.strength), near.first_row});
        }
        return fuzzy_union(weighted, count);
    }
    const double perplexity = std::max(1.0, std::min(perplexity_of(options), static_cast<double>(count - 1) / 3));
    const auto each = static_cast<std::int64_t>(std::min(static_cast<double>(count - 1), 3 * perplexity));
    for (Neighbourhood& near : neighbourhoods(all, head, options.preset, each, cancel)) {
        const std::vector<float> x = exponents(near);
        // A role with few points has lists shorter than the perplexity requires: spread over all of its points.
        Calibrated weights = calibrated(x, near.lists.count, near.lists.each,
                                        std::min(perplexity, std::max(1.0, static_cast<double>(near.lists.each) / 3)));
        weighted.push_back({std::move(near.lists), std::move(weights.p), near.first_row});
    }
    return joint_probabilities(weighted, count);
}

}  // namespace headlight::map
