// SPDX-License-Identifier: GPL-3.0-or-later
// Passes beside the trace: what the model says when tokens or tensors are others, and gradients. With torch in it (as
// tensors.h): for src/analyze and tests, never for figure or ui.
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/model.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/variants.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace headlight::trace {

/// One pass on these ids (of an encoder-decoder model one of each; interventions are of the decoder): its logits [pos, vocab], on
/// the CPU in the compute type. Nothing else is kept; an intervention that only looks returns the tensor it was given. Error
/// without unembedding.
at::Tensor replay(const model::Model&, const TokenIds&, const std::vector<Intervention>& = {}, const CancelToken& = {});

/// What a query attends to: its row of a pattern [head, key], and the values there [key, kv_head, d_head]; on the CPU.
using TakeRow = std::function<void(model::HookPoint pattern, const at::Tensor& row, const at::Tensor& values)>;
/// replay() that shows a query's row of every attention of the model, to the source too. No pattern is ever whole.
at::Tensor replay_row(const model::Model&, const TokenIds&, std::int64_t query, const TakeRow& take, const CancelToken& = {},
                      const Progress& = {});

/// Logits at the position of variants [first, first + variant), [variant, vocab], and of the text itself out of the same
/// products, [vocab]; on the CPU in the compute type.
using TakeLogits = std::function<void(std::int64_t first, const at::Tensor& usual, const at::Tensor& logits)>;
/// Logits of each variant at a position: what replay() gives for each of them, to rounding. Many go through a pass together, each
/// from its first different layer on, in causal models from its first different token on; `take` is called after each pass, so
/// that only one pass's logits are in memory. Cancelled within a layer; progress counts passes. Error for an edit at a hook that
/// can_batch() does not name.
void replay_variants(const model::Model&, const TokenIds&, std::int64_t position, const std::vector<Variant>&,
                     const TakeLogits& take, const CancelToken& = {}, const Progress& = {});

struct Gradients {
    double value = 0;                                  ///< the objective
    std::map<model::HookPoint, at::Tensor> values;     ///< the tensors at the hooks, on the CPU
    std::map<model::HookPoint, at::Tensor> gradients;  ///< total derivatives of the objective, of equal shape
    std::map<model::HookPoint, at::Tensor> source_values,
        source_gradients;  ///< the same hooks in the encoder; empty: there is none
};
/// d objective(logits) / d tensor at each of the hooks, by LibTorch's autograd: later layers are seen to change with
/// the tensor. `objective` makes one number of the logits [pos, vocab] with differentiable operators. The pass has operators of
/// ATen in place of some kernels, so that values agree with a run to rounding (1e-6), not bit for bit. On the CPU in float32 and
/// float64 the backward pass computes patterns again; those whose gradient is asked for, and DeBERTa's, are kept. Errors: no
/// unembedding; more memory than there is (everything else of the pass is kept until the end). Cancelled within a layer, where
/// patterns are kept between layers; progress counts the layers of both passes, those of an encoder left out.
Gradients gradients(const model::Model&, const TokenIds&, const std::vector<model::HookPoint>& of,
                    const std::function<at::Tensor(const at::Tensor& logits)>& objective, const CancelToken& = {},
                    const Progress& = {});

/// An Error where gradients() at these hooks would need more memory than there is: some numbers for each token and, in layers
/// whose patterns are kept, six for each pair of tokens of every head. For those that have other work to do before.
void require_memory_for_gradients(const model::Model&, const TokenIds&, const std::vector<model::HookPoint>& of);

/// The same for each list of hooks with the derivatives through the tensors at them left out, as if they were constants (they
/// themselves have derivative 0): one pass, and a backward pass for each list.
std::vector<Gradients> gradients_without(const model::Model&, const TokenIds&, const std::vector<model::HookPoint>& of,
                                         const std::function<at::Tensor(const at::Tensor& logits)>& objective,
                                         const std::vector<std::vector<model::HookPoint>>& without, const CancelToken& = {},
                                         const Progress& = {});

}  // namespace headlight::trace
