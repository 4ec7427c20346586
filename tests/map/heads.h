// SPDX-License-Identifier: GPL-3.0-or-later
// Synthetic heads: token types drawn by Zipf's law, embeddings with sinusoidal positions and noise, standardised, and projected.
#pragma once

#include "headlight/map/run/map_run.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace headlight::map {

/// One head of a causal model over `texts` texts of `length` tokens. `alike`: W_q is .8 W_k + .6 noise; otherwise unrelated.
inline MapVectors random_head(int texts, int length, bool alike, unsigned seed, std::int64_t width = 64) {
    constexpr int kTypes = 40, kModel = 256;
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const auto matrix = [&](int rows, std::int64_t columns) {
        std::vector<double> m(static_cast<std::size_t>(rows * columns));
        for (double& value : m) value = normal(random);
        return m;
    };
    const std::vector<double> embeddings = matrix(kTypes, kModel), w_k = matrix(kModel, width), b_q = matrix(1, width),
                              b_k = matrix(1, width);
    std::vector<double> w_q = matrix(kModel, width);
    if (alike)
        for (std::size_t i = 0; i < w_q.size(); ++i) w_q[i] = 0.8 * w_k[i] + 0.6 * w_q[i];
    std::vector<double> zipf;
    for (int t = 1; t <= kTypes; ++t) zipf.push_back(std::pow(t, -1.5));
    std::discrete_distribution<int> type(zipf.begin(), zipf.end());

    MapVectors out;
    out.layers = out.heads_per_layer = 1;
    out.causal = true;
    out.model = "synthetic";
    auto queries = std::make_shared<std::vector<float>>(), keys = std::make_shared<std::vector<float>>();
    std::vector<double> x(kModel);
    for (int text = 0; text < texts; ++text) {
        out.tokens.names.push_back("text " + std::to_string(text));
        for (int position = 0; position < length; ++position) {
            const int id = type(random);
            double mean = 0, square = 0;
            for (int d = 0; d < kModel; ++d) {
                const double angle = position / std::pow(10000.0, d / 2 * 2.0 / kModel);
                const double value = embeddings[static_cast<std::size_t>(id * kModel + d)] +
                                     0.6 * (d % 2 ? std::cos(angle) : std::sin(angle)) + 0.3 * normal(random);
                x[static_cast<std::size_t>(d)] = value;
                mean += value / kModel;
            }
            for (double& value : x) square += (value - mean) * (value - mean) / kModel;
            for (double& value : x) value = (value - mean) / std::sqrt(square);
            for (std::int64_t c = 0; c < width; ++c) {
                double q = 0.5 * b_q[static_cast<std::size_t>(c)], k = 1.5 * b_k[static_cast<std::size_t>(c)];
                for (int d = 0; d < kModel; ++d) {
                    q += x[static_cast<std::size_t>(d)] * w_q[static_cast<std::size_t>(d * width + c)] / 16;
                    k += 1.8 * x[static_cast<std::size_t>(d)] * w_k[static_cast<std::size_t>(d * width + c)] / 16;
                }
                queries->push_back(static_cast<float>(q));
                keys->push_back(static_cast<float>(k));
            }
            out.tokens.tokens.push_back("w" + std::to_string(id));
            out.tokens.token_ids.push_back(id);
            out.tokens.text.push_back(text);
            out.tokens.position.push_back(position);
            out.tokens.apart.push_back(position == 0 ? 1 : 0);
        }
    }
    HeadVectors head;
    head.width = width;
    head.queries = queries;
    head.keys = keys;
    head.score_scale = 1 / std::sqrt(static_cast<double>(width));
    out.heads.push_back(std::move(head));
    return out;
}

inline QueryKeyMap finished_map(const std::shared_ptr<const MapVectors>& vectors, const MapOptions& options, int threads = 1) {
    MapRun run(vectors, options);
    run.run(threads);
    return run.map();
}

/// A head over 36 tokens, and the same with all queries and keys equal.
inline std::shared_ptr<MapVectors> small_head() { return std::make_shared<MapVectors>(random_head(4, 9, false, 3, 8)); }
inline std::shared_ptr<MapVectors> equal_head() {
    auto out = small_head();
    out->heads[0].queries = out->heads[0].keys = std::make_shared<std::vector<float>>(36 * 8, 1.5F);
    return out;
}

}  // namespace headlight::map
