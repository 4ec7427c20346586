// SPDX-License-Identifier: GPL-3.0-or-later
// Several texts in one pass: their rows stand under each other for every product, attention goes text by text.
#pragma once

#include "model/blocks/attend.h"
#include "model/run/stacked.h"

#include <functional>
#include <vector>

namespace headlight::model {

/// One text of a stack, of which tokens [first, last) have rows; the others are those of the text it is a variant of.
struct StackedText {
    std::int64_t start = 0;  ///< its first row in the stack
    std::int64_t first = 0, last = 0;
    std::int64_t source = 0;
    const Variant* variant = nullptr;
    std::int64_t rows() const { return last - first; }
};

struct TextStack {
    std::int64_t tokens = 0;  ///< of every text
    std::vector<StackedText> texts;
    at::Tensor sources{};              ///< [source, token, d_model], of decoders behind an encoder
    const KeptStates* kept = nullptr;  ///< of the text that all are variants of; nullptr: it is the first one and has every row

    std::int64_t rows() const { return texts.empty() ? 0 : texts.back().start + texts.back().rows(); }
    std::int64_t token_of(std::int64_t row) const;
};

/// q, k and v of the stack, [head, row, d_head], to z [row, head, d_head], with the variants' edits of scores and pattern. Keys
/// of Hook::cross_pattern are of the texts' sources. `input` makes the AttentionInput of one text's queries and keys.
at::Tensor attend_stacked(const TextStack&, HookPoint pattern, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const std::function<AttentionInput(const at::Tensor& q, const at::Tensor& k)>& input);

}  // namespace headlight::model
