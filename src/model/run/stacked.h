// SPDX-License-Identifier: GPL-3.0-or-later
// Many variants of one text in one pass. Internal to src/model and src/trace.
#pragma once

#include "headlight/model/variant.h"
#include "model/arithmetic/on_cpu.h"
#include "model/internals.h"
#include "model/run/forward.h"

#include <functional>
#include <span>
#include <vector>

namespace headlight::model {

struct Pass;

/// What a pass continues with. The edit sees the rows on the CPU.
inline at::Tensor edited(const RowEdit& edit, HookPoint point, const at::Tensor& rows, std::int64_t first_row) {
    return changed_on_cpu(rows, [&](const at::Tensor& t) { return edit.fn(point, t, first_row); });
}

/// False for tensors that a stack has no rows of: before and behind the layers, of the source, terms of the scores.
bool can_stack(Hook) noexcept;

/// Rows [first, last) of the text whose logits are asked for.
struct RowRange {
    std::int64_t first = 0, last = 0;
};
/// Rows that a variant adds to the stack: in a causal model those from its first difference to the last that is asked for, else
/// all.
std::int64_t rows_of(const ModelConfig&, const ForwardInput&, RowRange asked, const Variant&);
/// The first layer whose input or hooks it changes.
Layer start_of(const Variant&) noexcept;
/// Rows worth stacking: a layer's products over them take some 50 ms.
std::int64_t rows_at_once(const ModelConfig&);

/// Logits at a position of the text itself and of each variant, [1 + variant, vocab], those of forward() to rounding; a
/// difference between two of them is free of the rounding that another product's shape would bring. A variant costs its own rows
/// from its own layer on; everything else is the text's, which is `input` with the result of encode_stacked() as its source: one
/// of the text and one of each variant that names another. Checks for cancellation before each layer, then calls `layer_done`.
at::Tensor forward_stacked(const Model&, const ForwardInput& input, const at::Tensor& sources, std::int64_t position,
                           const std::vector<Variant>&, const CancelToken&, const std::function<void(Layer)>& layer_done = {});

/// encode() of a source and of each variant's, in this order: [source, token, d_model].
at::Tensor encode_stacked(const Model& encoder, const std::vector<std::int64_t>& source, const std::vector<Variant>&,
                          const CancelToken&);

/// What a pass leaves for variants that begin in the middle of it.
struct KeptStates {
    std::vector<at::Tensor> stream{};  ///< [pos, d_model] before each layer, then behind the last
    std::vector<at::Tensor> k{}, v{};  ///< [kv_head, pos, d_head] of each layer, as its scores and mixtures read them
};

/// A text that was run once. Its variants begin at their own layer with the states of this run, so that none costs what it shares
/// with the text; the text is not run again.
class KeptText {
public:
    /// Of the logits only rows `asked` and, where they are given, `columns` ([column] int64).
    /// `added`: to the token embeddings of the text, [pos, d_embed]; undefined: nothing.
    KeptText(const Model&, ForwardInput, RowRange asked, const at::Tensor& columns, const at::Tensor& added, const CancelToken&);

    const at::Tensor& logits() const { return logits_; }  ///< of the text itself: [row, column]
    const KeptStates& states() const { return states_; }
    RowRange asked() const { return asked_; }
    std::int64_t columns() const { return logits_.size(1); }
    /// Of each variant, [variant, row, column]; they may not name a source, and their edits are those of can_stack().
    at::Tensor run(std::span<const Variant>, const CancelToken&, const std::function<void(Layer)>& layer_done = {}) const;

private:
    const Model& model_;
    ForwardInput input_;
    RowRange asked_;
    Linear unembed_{};  ///< of the columns; undefined: all
    KeptStates states_;
    at::Tensor logits_;

    at::Tensor finish_rows(Pass&, at::Tensor x) const;
};

}  // namespace headlight::model
