// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/heads/first_tokens.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::corpus {

/// A measure of every text: [text, layer * heads + head], 0 with weight 0 if the text lacks it. The corpus' is the sum of values
/// / the sum of weights; weights are 1, except those of `variability` (analyze::VariabilityTerms).
struct TextValues {
    Bootstrap::Columns values, weights;
};

/// The arrays of Heads, text by text: the mean over the queries of a text's chunks; for `max_weight`, which is a maximum, the
/// largest. Last, if they were gathered, `variability` of the arrays of FirstTokens.
class HeadTexts {
public:
    /// `merged`: of a store (store/segments.h); `text_of_chunk`: TextStore::text_of_chunk(). Errors: no measures of heads were
    /// gathered, arrays of another version.
    HeadTexts(const Arrays& merged, const std::vector<std::int64_t>& text_of_chunk);
    const std::vector<std::string>& measures() const noexcept { return measures_; }
    std::int64_t layers() const noexcept { return layers_; }
    std::int64_t heads() const noexcept { return heads_; }                      ///< of a layer
    const std::vector<std::int64_t>& texts() const noexcept { return texts_; }  ///< [row] numbers of the texts that were run
    bool is_maximum(std::size_t measure) const { return measures_.at(measure) == "max_weight"; }
    TextValues of(std::size_t measure) const;
    /// Null: not gathered.
    const FirstTokens* first_tokens() const noexcept { return first_ ? &*first_ : nullptr; }

private:
    std::vector<std::string> measures_;
    std::int64_t layers_ = 0, heads_ = 0;
    std::vector<std::int64_t> texts_;
    std::vector<std::int64_t> row_;  ///< [chunk] its text's
    std::optional<FirstTokens> first_;
    std::vector<std::int64_t> first_row_;  ///< [text of first_] its row
    ArrayView<float> values_;              ///< [chunk, measure, layer, head], in the file
    ArrayView<std::int32_t> rows_;         ///< [chunk, measure, layer], in the file
};

}  // namespace headlight::corpus
