// SPDX-License-Identifier: GPL-3.0-or-later
// How much more a head attends to the keys of a known kind of head than those keys and those distances get anyway.
#pragma once

#include "headlight/trace/head_numbers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::analyze {

/// The earlier positions of each position's token, in stretches of memory: a chain of a long text is read from everywhere.
class EarlierCopies {
public:
    EarlierCopies() = default;
    /// `previous_same`: [position] nearest earlier position of the same token, -1: none. A chain ends where it says so.
    explicit EarlierCopies(const std::vector<std::int64_t>& previous_same);
    /// Ascending.
    std::span<const std::int32_t> of(std::int64_t position) const {
        const auto i = static_cast<std::size_t>(position);
        return std::span(places_).subspan(static_cast<std::size_t>(first_[i]), static_cast<std::size_t>(count_[i]));
    }
    /// [position] the same number for positions of one chain.
    const std::int32_t* tokens() const { return first_.data(); }

private:
    std::vector<std::int32_t> places_, first_, count_;
};

/// The pairs (query, key) that a kind of head attends to, which the tokens alone decide. Of the weight on a pair, what the
/// text's other queries give the same key on average is subtracted (a key that all attend to, an attention sink, shows
/// nothing), and what they give the keys at the same distance (a head that attends by position shows nothing). A query that has
/// the pair itself, and the key's own query, are not among the others; a pair without others does not count. By definition the
/// distance decides for previous-token heads: only the key's share is subtracted.
class HeadExcess {
public:
    enum class Kind { previous_token, duplicate_token, induction };
    HeadExcess() = default;
    /// `previous_same`: [query] nearest earlier position of the same token, -1: none. Special tokens repeat nothing.
    HeadExcess(Kind, const trace::PatternShape&, const std::vector<std::int64_t>& previous_same,
               const std::vector<bool>& special);

    /// Queries with at least one pair that counts.
    std::int64_t queries() const noexcept { return queries_; }
    /// The sum over all rows, minus those of of_columns() and of_diagonals() over all, divided by queries() is the excess.
    double of_row(const trace::PatternRow&) const;
    /// `columns`: sums of weights for each of the first `keys` keys.
    double of_columns(const float* columns, std::int64_t keys) const;
    /// Those that of_diagonals() reads.
    model::KeyRange distances() const noexcept { return {least_, most_ + 1}; }
    /// `diagonals`: sums of weights, [n - 1 - distance].
    double of_diagonals(const float* diagonals) const;

private:
    template <class Take>
    void for_each_key(std::int64_t query, const model::KeyRange& legal, Take) const;

    Kind kind_ = Kind::previous_token;
    bool causal_ = true;
    EarlierCopies copies_;  ///< none of special tokens
    std::int64_t queries_ = 0;
    std::vector<double> key_share_;       ///< [key] pairs that count there / other queries
    std::vector<double> distance_share_;  ///< [n - 1 - distance], the same of distances
    std::int64_t least_ = 0, most_ = -1;  ///< distances with a share
};

}  // namespace headlight::analyze
