// SPDX-License-Identifier: GPL-3.0-or-later
// Variability (Vig & Belinkov 2019, section 4.2): how much a head's pattern among the first tokens differs between texts, without
// attention to the very first one, which mostly stands for none. 0: the positions alone decide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::analyze {

inline constexpr std::int64_t kFirstTokens = 10;  ///< enough texts have so many

/// Which pairs of the first tokens count, and where their weights are. In a causal model only keys up to the query, [i (i + 1) /
/// 2 + j]; else all, [10 i + j].
struct FirstPairs {
    bool causal = true;
    std::int64_t size() const noexcept { return causal ? kFirstTokens * (kFirstTokens + 1) / 2 : kFirstTokens * kFirstTokens; }
    std::int64_t keys(std::int64_t query) const noexcept { return causal ? query + 1 : kFirstTokens; }
    std::int64_t at(std::int64_t query, std::int64_t key) const noexcept {
        return causal ? query * (query + 1) / 2 + key : query * kFirstTokens + key;
    }
};

/// A head's weights among the first tokens of a text, FirstPairs::size() of them; those of tokens that it does not have are not
/// read.
struct FirstWeights {
    const float* weights = nullptr;
    std::int64_t tokens = 0;
};

/// Variability = sum over texts of `differences` / sum of `weights`, with the sums over pairs (i, j > 0) that at least two texts
/// have and a'_ij their mean. A pair's difference is |a_ij - a'_ij| - s_ij (a_ij - a'_ij), s_ij the mean over texts of the sign
/// of a_ij - a'_ij: the second part adds up to 0, and makes the sums of drawn texts those of their own mean to first order.
struct VariabilityTerms {
    std::vector<double> differences;  ///< [text]
    std::vector<double> weights;      ///< [text] 2 sum_ij a_ij
    double value() const noexcept;    ///< NaN: no pair is in two texts
};
VariabilityTerms variability(std::span<const FirstWeights> texts, const FirstPairs&);

}  // namespace headlight::analyze
