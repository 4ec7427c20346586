// SPDX-License-Identifier: GPL-3.0-or-later
// Several texts in one pass: their rows stand under each other for every product, attention goes text by text.
#pragma once

#include "model/blocks/attend.h"
#include "model/run/stacked.h"

#include <functional>
#include <vector>

namespace headlight::model {

/// One text of a stack. The first is the text that the others are variants of, and has every row.
struct StackedText {
    std::int64_t start = 0;  ///< its first row in the stack
    std::int64_t first = 0;  ///< token of that row; earlier ones are those of the first text
    std::int64_t source = 0;
    const Variant* variant = nullptr;
};

struct TextStack {
    std::int64_t tokens = 0;    ///< of every text
    std::int64_t position = 0;  ///< whose weights a variant may reorder
    std::vector<StackedText> texts;
    at::Tensor sources{};  ///< [source, token, d_model], of decoders behind an encoder

    std::int64_t rows_of(const StackedText& text) const { return tokens - text.first; }
    std::int64_t rows() const { return texts.back().start + rows_of(texts.back()); }
    std::int64_t token_of(std::int64_t row) const;
};

/// q, k and v of the stack, [head, row, d_head], to z [row, head, d_head]. `cross`: keys are of the texts' sources.
/// `input` makes the AttentionInput of one text's queries and keys.
at::Tensor attend_stacked(const TextStack&, HookPoint pattern, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const std::function<AttentionInput(const at::Tensor& q, const at::Tensor& k)>& input);

}  // namespace headlight::model
