// SPDX-License-Identifier: GPL-3.0-or-later
// The attention of every head among the first tokens of some texts: what `variability` is computed of, which needs all texts at
// once (analyze/heads/variability.h).
#pragma once

#include "headlight/analyze/heads/variability.h"
#include "headlight/corpus/accumulate/stored.h"
#include "headlight/corpus/heads/heads.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// Texts with the smallest draw(seed, chunk, 0): all of a corpus of no more.
inline constexpr std::int64_t kTextsOfVariability = 500;

/// Accumulator "variability". A text counts by its first chunk, if that has a token after the first.
class FirstTokens final : public Stored<FirstTokens> {
public:
    FirstTokens(const HeadsShape& shape, std::uint64_t seed, std::int64_t texts = kTextsOfVariability)
        : shape_(shape), seed_(seed), texts_(texts) {}
    /// What a file of a run with this seed holds. Errors as load().
    FirstTokens(const Arrays& arrays, std::uint64_t seed) : FirstTokens(HeadsShape(), seed) { load(arrays); }

    struct OfText {
        std::int64_t chunk = 0;      ///< its first one
        std::int64_t tokens = 0;     ///< at most kFirstTokens
        std::vector<float> weights;  ///< [layer * heads + head, FirstPairs::size()]
    };
    const HeadsShape& shape() const noexcept { return shape_; }
    analyze::FirstPairs pairs() const noexcept { return {.causal = shape_.causal}; }
    std::vector<std::int64_t> chunks() const;  ///< of the kept texts, in the order of their draws
    /// Of a head, layer * heads + head, over chunks().
    analyze::VariabilityTerms variability(std::int64_t head) const;
    std::int64_t queries() const noexcept;  ///< that count, of the kept texts

    std::unique_ptr<TextPatterns> patterns_of(const TextRun&) const override;
    void add(const TextRun&, TextPatterns*) override;

private:
    /// variability.shape: layers, heads, causal, texts that are kept at most. variability.chunks, .tokens [n]; .weights [n,
    /// layer, head, pair].
    void stored(Archive&) override;
    /// Draw, chunk.
    std::pair<std::uint64_t, std::int64_t> place_of(std::int64_t chunk) const;
    bool keeps(std::int64_t chunk) const;

    HeadsShape shape_;
    std::uint64_t seed_;
    std::int64_t texts_;
    std::vector<OfText> kept_;  ///< by their places
};

AccumulatorKind variability_kind();

}  // namespace headlight::corpus
