// SPDX-License-Identifier: GPL-3.0-or-later
// A model view with made-up patterns: causal rows that sum to 1; heads look back by their index, or at the first token.
#pragma once

#include "figure/pattern/model/model_view_store.h"
#include "tests/figure/pattern/neuron_sample.h"

#include <cmath>

namespace headlight::figure::sample {

inline analyze::Matrix made_up_pattern(HeadId head, std::int64_t tokens) {
    analyze::Matrix p = analyze::Matrix::Zero(tokens, tokens);
    const double back = double(head.head.value % 5), sink = double((head.layer.value * 3 + head.head.value) % 7) / 7;
    const double period = 11 + double(head.layer.value);
    for (std::int64_t i = 0; i < tokens; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const double d = double(i - j) - back, wave = std::cos(2 * M_PI * double(i - j) / period);
            p(i, j) = float(std::exp(-std::abs(d) / (1 + double(head.layer.value))) + (wave > 0.97 ? 0.6 : 0) +
                            (j == 0 ? sink * 2 : 0) + 0.003);
        }
        p.row(i) /= p.row(i).sum();
    }
    return p;
}

inline analyze::Matrix pool(const analyze::Matrix& m, std::int64_t side, bool mean) {
    const auto n = std::min<std::int64_t>(side, m.rows()), t = std::int64_t(m.rows());
    analyze::Matrix out(n, n);
    for (std::int64_t r = 0; r < n; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
            const auto block = m.block(r * t / n, c * t / n, (r + 1) * t / n - r * t / n, (c + 1) * t / n - c * t / n);
            out(r, c) = mean ? block.mean() : block.maxCoeff();
        }
    return out;
}

inline ModelViewData model(std::int64_t layers, std::int64_t heads, std::int64_t tokens) {
    ModelViewData data;
    data.axes.queries = data.axes.keys = axis_items(tokens);
    data.shape = {layers, heads, heads, tokens, tokens, tokens <= 40};
    data.pattern = [=](HeadId head) { return made_up_pattern(head, tokens); };
    // One pooled map a head is made at once, as a trace's overview would hold it.
    auto maps = std::make_shared<std::map<HeadId, analyze::PooledMap>>();
    if (tokens > 40)
        for (std::int64_t l = 0; l < layers; ++l)
            for (std::int64_t h = 0; h < heads; ++h) {
                const HeadId head{Layer{l}, Head{h}};
                const auto full = made_up_pattern(head, tokens);
                (*maps)[head] = {head, pool(full, 128, false), pool(full, 128, true)};
            }
    data.pooled = [maps](HeadId head) { return maps->at(head); };
    return data;
}

}  // namespace headlight::figure::sample
