// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/heads/variability.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::analyze {

double VariabilityTerms::value() const noexcept {
    const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
    return weight > 0 ? std::accumulate(differences.begin(), differences.end(), 0.0) / weight : kNaN;
}

VariabilityTerms variability(std::span<const FirstWeights> texts, const FirstPairs& pairs) {
    VariabilityTerms out{std::vector<double>(texts.size()), std::vector<double>(texts.size())};
    for (std::int64_t i = 0; i < kFirstTokens; ++i)
        for (std::int64_t j = 1; j < pairs.keys(i); ++j) {
            const auto has = [&](const FirstWeights& text) { return text.tokens > std::max(i, j); };
            const auto at = [&](const FirstWeights& text) { return static_cast<double>(text.weights[pairs.at(i, j)]); };
            double sum = 0, count = 0, signs = 0;
            for (const FirstWeights& text : texts)
                if (has(text)) sum += at(text), ++count;
            if (count < 2) continue;  // its own mean: no difference to speak of
            const double mean = sum / count;
            for (const FirstWeights& text : texts)
                if (has(text)) signs += at(text) > mean ? 1 : at(text) < mean ? -1 : 0;
            for (std::size_t t = 0; t < texts.size(); ++t) {
                if (!has(texts[t])) continue;
                const double away = at(texts[t]) - mean;
                out.differences[t] += std::abs(away) - signs / count * away;
                out.weights[t] += 2 * at(texts[t]);
            }
        }
    return out;
}

}  // namespace headlight::analyze
