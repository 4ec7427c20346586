// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headlight::trace {

/// A text whose tokens are known: a part of a longer one keeps the tokens that it has there.
struct EncodedText {
    std::string text;
    text::Encoding encoding;         ///< offsets are in `text`
    std::int64_t first_counted = 0;  ///< queries before it are context alone: they are in none of the overview's numbers
};

/// One head's attention to its text.
struct HeadPattern {
    std::span<const float> weights;  ///< [query, key], row-major; illegal keys are exactly 0
    std::int64_t keys = 0;
    std::span<const float> lengths = {};  ///< |v_j W_O| of each key; empty: not known
    std::int64_t queries() const noexcept { return keys > 0 ? std::ssize(weights) / keys : 0; }
    std::span<const float> row(std::int64_t query) const noexcept {
        return weights.subspan(static_cast<std::size_t>(query * keys), static_cast<std::size_t>(keys));
    }
};

/// Some rows of a head's pattern, as they are made.
struct HeadRows {
    const float* weights = nullptr;  ///< `stride` apart; illegal keys are exactly 0
    std::int64_t first = 0, count = 0;
    std::int64_t keys = 0;  ///< columns that exist; later keys are illegal for all of these rows
    std::int64_t stride = 0;
    std::span<const float> lengths = {};  ///< |v_j W_O| of each key; empty: not known
    const float* row(std::int64_t query) const noexcept { return weights + (query - first) * stride; }
};

/// Takes the patterns of a run while its pass has them, so that none is computed twice. From several threads at once, a layer at
/// a time; the memory is reused as soon as a call returns.
class PatternReader {
public:
    virtual ~PatternReader() = default;
    virtual bool takes_patterns() const { return true; }
    virtual bool takes_rows() const { return false; }
    /// Every head once.
    virtual void pattern(HeadId, const HeadPattern&) {}
    /// Every row of every head once, in blocks of any order: while they are in the cache, so that whole patterns are never put
    /// together. The blocks of a text do not depend on threads or other texts.
    virtual void rows(HeadId, const HeadRows&) {}
};

/// run() of it, for models of one stack that read text. Errors as there. Lengths reach the reader where the plan has numbers of
/// heads.
std::shared_ptr<const Trace> run_encoded(std::shared_ptr<const model::Model>, std::shared_ptr<const text::Tokenizer>, EncodedText,
                                         const CapturePlan&, const CancelToken& = {}, PatternReader* = nullptr);

/// A text of a pack and who reads its patterns; nullptr: nobody.
struct PackedText {
    EncodedText text;
    PatternReader* reader = nullptr;
};
/// run_encoded() of each text, in one pass over the rows of all of them (model::forward_packed()). The traces share the memory of
/// their tensors: drop them together. Readers of different texts are called from several threads at once.
std::vector<std::shared_ptr<const Trace>> run_packed(const std::shared_ptr<const model::Model>&,
                                                     const std::shared_ptr<const text::Tokenizer>&, std::vector<PackedText>,
                                                     const CapturePlan&, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::trace
