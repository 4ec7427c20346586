// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/run/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::model {

std::int64_t Sampler::draw(const std::vector<double>& logits) {
    if (options_.temperature == 0) return std::ranges::max_element(logits) - logits.begin();
    std::vector<std::int64_t> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(), [&](std::int64_t i) { return logits[static_cast<std::size_t>(i)]; });
    if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < order.size())
        order.resize(static_cast<std::size_t>(options_.top_k));
    const double top = logits[static_cast<std::size_t>(order.front())];
    std::vector<double> weight;
    for (const std::int64_t i : order)
        weight.push_back(std::exp((logits[static_cast<std::size_t>(i)] - top) / options_.temperature));
    double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    double reached = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        reached += weight[i];
        if (reached < options_.top_p * sum) continue;
        weight.resize(i + 1);
        sum = reached;
        break;
    }
    // 53 random bits; not a distribution of the library, whose draws differ between implementations.
    double left = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        left -= weight[i];
        if (left < 0) return order[i];
    }
    return order[weight.size() - 1];
}

}  // namespace headlight::model
