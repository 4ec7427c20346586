// SPDX-License-Identifier: GPL-3.0-or-later
// Examples are addresses, not copies: a text of the corpus and a position in it. Their content is recomputed by running that
// text. The best are the same whatever the order of the texts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// A position in the corpus with its value.
struct Example {
    float value = 0;
    std::int64_t text = 0;   ///< number of the chunk in the store
    std::int32_t query = 0;  ///< token position in it; for a neuron its only position
    std::int32_t key = -1;   ///< token position, for a pair
    bool operator==(const Example&) const = default;
};
/// The total order of examples: larger values first, then earlier texts, queries and keys. NaN is not allowed.
bool before(const Example&, const Example&) noexcept;

/// The best `size` of the added examples.
class TopExamples {
public:
    explicit TopExamples(std::int64_t size = 0) : size_(size) {}
    /// Examples below this value are no longer kept; -infinity while there is room.
    float floor() const noexcept;
    void add(const Example&);
    void merge(const TopExamples&);
    void clear() noexcept { heap_.clear(); }
    std::vector<Example> sorted() const;  ///< best first

private:
    std::int64_t size_ = 0;
    std::vector<Example> heap_;  ///< the worst first
};

/// SplitMix64's finaliser over (seed, text, place): the draw that decides which examples a sample keeps.
std::uint64_t draw(std::uint64_t seed, std::int64_t text, std::int64_t place) noexcept;
/// FNV-1a: the number of a text or word that is known by its name.
std::int64_t name_hash(std::string_view) noexcept;

}  // namespace headlight::corpus
