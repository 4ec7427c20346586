// SPDX-License-Identifier: GPL-3.0-or-later
// How much more a head attends to the keys of a known kind of head than those keys and those distances get anyway.
#pragma once

#include "headlight/trace/head_numbers.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

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
    /// The sum over all rows, minus that of of_columns() over all columns, divided by queries() is the excess.
    double of_row(const trace::PatternRow&) const;
    /// `columns`: sums of weights for each of the first `keys` keys.
    double of_columns(const float* columns, std::int64_t keys) const;

private:
    template <class Take>
    void for_each_key(std::int64_t query, const model::KeyRange& legal, Take) const;
    bool counts(std::int64_t query, std::int64_t key) const;

    Kind kind_ = Kind::previous_token;
    bool causal_ = true;
    std::vector<std::int64_t> previous_same_;  ///< -1 for special tokens
    std::int64_t queries_ = 0;
    std::vector<std::int64_t> keys_;                          ///< with a share that is not 0
    std::vector<double> key_share_;                           ///< [key] pairs that count there / other queries
    std::vector<float> distance_share_;                       ///< [last distance - distance], the same of distances
    std::vector<std::int64_t> key_others_, distance_others_;  ///< how many other queries there are
    std::int64_t least_ = 0, most_ = -1;                      ///< distances with a share
};

}  // namespace headlight::analyze
