// SPDX-License-Identifier: GPL-3.0-or-later
// Many edited versions of one text at the price of what they do not share. With torch in it (as tensors.h): for src/analyze,
// src/intervention and the command line, never for figure or ui.
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/model.h"
#include "headlight/model/variant.h"
#include "headlight/text/encoding.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace headlight::trace {

/// What a pass reads.
struct TokenIds {
    std::vector<std::int64_t> ids, type_ids;             ///< type_ids may be empty: all 0
    std::shared_ptr<const std::vector<float>> pixels{};  ///< of a picture: what is read in place of the ids
    std::vector<std::int64_t> source{};  ///< encoder-decoder models: what the encoder reads; `ids` are the target's
    at::Tensor added{};  ///< [pos, d_embed], added to the token embeddings (hook_embed): noise; undefined: nothing
};
TokenIds ids_of(const text::Encoding&);

using Edit = model::RowEdit;
using model::Variant;

/// True for hooks at which variants are edited in one pass: those of the layers, but the source's keys and values, the sinks'
/// share and the terms of scores. Edits elsewhere take a pass of their own, from the beginning.
bool can_batch(model::Hook) noexcept;

struct VariantsOptions {
    /// Rows whose logits are wanted, [first, last); last 0: all of the text.
    std::int64_t first = 0, last = 0;
    std::vector<std::int64_t> columns{};  ///< of the vocabulary; empty: all
    /// For the states and logits of the variants in one pass, in bytes. A pass takes one at least.
    std::int64_t memory = std::int64_t{1} << 28;
};

/// A text that was run once, and passes of its variants. Each begins at the first layer and, in a causal model, at the first
/// position that it changes, with the states of that run, and many of one beginning go through a pass together. What comes is
/// what replay() gives with the same interventions, to rounding, in whatever order and number the variants are asked for. Where
/// nothing can be reused (a changed source, embeddings, the final norm) a variant is a whole pass.
class Variants {
public:
    /// Runs the text. Errors: those of replay(); rows or columns that do not exist.
    Variants(std::shared_ptr<const model::Model>, TokenIds, VariantsOptions, const CancelToken& = {});
    ~Variants();
    Variants(Variants&&) noexcept;

    const at::Tensor& logits() const noexcept;  ///< of the text itself, [row, column], on the CPU

    /// Logits of a variant, [row, column], on the CPU in the compute type; valid during the call.
    using Take = std::function<void(std::int64_t variant, const at::Tensor& logits)>;
    /// `take` is called once for each variant, in any order, from this thread. Cancelled within a layer; progress counts
    /// variants. Error: an edit of a hook that the model lacks.
    void run(const std::vector<Variant>&, const Take& take, const CancelToken& = {}, const Progress& = {}) const;

    /// Layers times rows that the pass of a variant computes, of layers() times tokens for a whole one.
    std::int64_t cost(const Variant&) const;
    std::int64_t whole_cost() const;
    /// Bytes that are kept of the text's run, and those of a pass of variants at most.
    std::int64_t kept_bytes() const, pass_bytes() const;

private:
    struct Internals;
    std::unique_ptr<Internals> in_;
};

/// The tensors of a text's run at these hooks, on the CPU.
std::map<model::HookPoint, at::Tensor> tensors_of(const model::Model&, const TokenIds&, const std::vector<model::HookPoint>&,
                                                  const CancelToken& = {});

}  // namespace headlight::trace
