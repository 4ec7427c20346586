// SPDX-License-Identifier: GPL-3.0-or-later
// The forward pass and the one place it touches the outside: Observer. Internal to src/model and src/trace.
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/hook_name.h"
#include "headlight/model/model.h"
#include "model/arithmetic/kernels.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace headlight::model {

/// What content and relative positions add to the scores (DeBERTa): of each query and key against every relative position
/// that a text of this length has. Linear in the text, where the terms themselves are [head, query, key].
struct RelativeTables {
    at::Tensor c2p;   ///< [head, query, row] scale q_i.K_r, contiguous; undefined: no such term
    at::Tensor p2c;   ///< [head, key, row] scale k_j.Q_r
    at::Tensor rows;  ///< int64 on the CPU: rows[query - key + keys - 1] is the column of the tables
    bool defined() const { return rows.defined(); }
};

/// What the map of a state space has in the place of a softmax: the score of query t and key j times
/// steps_j exp(decays_t - decays_j).
struct StateFactors {
    at::Tensor steps;   ///< [head, key] float64
    at::Tensor decays;  ///< [head, key] float64, the sum of hook_decay up to the token
    bool defined() const { return steps.defined(); }
};

/// Everything needed to compute any row of any head's pattern of one layer: what the pass itself uses.
struct AttentionInput {
    at::Tensor q;             ///< [head, query, d_head], after rotation, contiguous
    at::Tensor k;             ///< [kv_head, key, d_head], after rotation, contiguous
    at::Tensor alibi_slopes;  ///< [head] float64, undefined: none. bias_ij = -slope (i - j)
    double scale = 1.0;
    bool causal = true;
    std::int64_t window = 0;  ///< as in ModelConfig::windows
    double softcap = 0;       ///< score = cap tanh(score / cap) before masking; 0: none
    /// [head, 2 n - 1] of a text of n tokens, in the type of q: bias_ij = relative_bias[head, j - i + n - 1]. Undefined: none.
    at::Tensor relative_bias{};
    at::Tensor key_bias{};  ///< [head, key] float64 (Falcon's ALiBi): bias_ij = key_bias_j - key_bias_i; undefined: none
    at::Tensor sinks = {};  ///< [head] float64 on the CPU: one more score in every row's softmax, of no key; undefined: none
    RelativeTables relative = {};
    StateFactors state = {};         ///< of a state space, whose map then stands wherever this file says pattern
    std::int64_t content = 0;        ///< MLA: leading numbers of q and k that are content, the others rotate; 0: no distinction
    bool wide = false;               ///< scores stay float32 where q is bfloat16
    bool bfloat16_products = false;  ///< with keys and values of float32 (ComputeType)
};

/// Sees every tensor of the pass. Tensors made only for hooks (attn_scores, pattern, result) are skipped unless wanted.
class Observer {
public:
    virtual ~Observer() = default;
    /// True: visit() will be called with the tensor, in the shape docs/hooks.md gives (pattern [head, query, key], …).
    virtual bool wants(HookPoint) const = 0;
    /// Returns the tensor itself or a replacement of equal shape and dtype (Error otherwise).
    /// The tensor may share memory with others of the pass and need not be contiguous: never change it in place.
    virtual at::Tensor visit(HookPoint, at::Tensor) = 0;
    /// Called for every layer that the pass comes to, whether or not anything of it is wanted: q and k as the pattern is made of
    /// them, before any attn_scores, pattern or pattern_tile of that layer.
    virtual void attention_input(Layer, const AttentionInput&) {}
    /// The same of a decoder's attention to the source.
    virtual void cross_attention_input(Layer, const AttentionInput&) {}
    /// Rows of patterns while they exist: heads [head0, head0 + H), queries [row0, row0 + R) as a tensor [H, R, K] of the
    /// pass's dtype, on its device. Keys [K, tokens) are illegal for all of these rows (exactly 0). Each (head, row) comes
    /// once a layer, in no particular order, and FROM SEVERAL THREADS AT ONCE (never two calls for the same head and
    /// rows). The memory is reused as soon as the call returns. What comes is what the pass uses: a replaced pattern is
    /// the replaced one.
    virtual bool wants_pattern_tiles() const { return false; }
    /// `logs` of each row of a tile of one head; empty: the softmax is not one of the CPU's kernels, or the pattern is a
    /// replacement.
    virtual void pattern_tile(Layer, std::int64_t /*head0*/, std::int64_t /*row0*/, const at::Tensor&,
                              std::span<const RowLogs> /*logs*/) {}
    virtual void cross_pattern_tile(Layer, std::int64_t /*head0*/, std::int64_t /*row0*/, const at::Tensor&) {}
};

/// Reads nothing and changes nothing.
class NoObserver final : public Observer {
public:
    bool wants(HookPoint) const override { return false; }
    at::Tensor visit(HookPoint, at::Tensor tensor) override { return tensor; }
};

struct ForwardInput {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> type_ids;  ///< used by models with token types
    at::Tensor source{};  ///< the result of encode() for the source; needed by decoders of encoder-decoder models only
    /// [colour, row, column] of the model's size, normalised: read in place of the ids by models of pictures.
    std::shared_ptr<const std::vector<float>> pixels{};
    bool exact = false;  ///< products of layers in the type of the tensors, whatever the model's ComputeType
};

/// One pass over one text, batch 1, no padding. It ends behind the last thing that the observer wants. Checks the token for
/// cancellation before each layer, reports "layer". Errors: no ids, an id or token type outside the model's tables (position, id
/// and limit named), more tokens than a model with learned positions has, a replacement of wrong shape or dtype, and NaN or Inf
/// in the residual stream after a layer (hook and position named). Bit-equal for equal input, whatever the observer reads.
void forward(const Model&, const ForwardInput&, Observer&, const CancelToken&, const Progress&);

/// The same pass of an encoder (Model::part): the stream after its last norm, as a decoder reads it: [source, d_model].
at::Tensor encode(const Model& encoder, const ForwardInput&, Observer&, const CancelToken&, const Progress&);

/// softmax(scale q k^T + bias) for heads [head0, +heads) and queries [row0, +rows): [heads, rows, key]; illegal keys exactly 0.
/// forward() itself uses the same tiles, so a pattern computed later equals the one of the run bit for bit on the CPU.
at::Tensor pattern_tile(const AttentionInput&, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows);
/// The same for all queries of heads [head0, +heads), `group` of them at a time: `work(head, row0, rows)` gets [group, row, key]
/// of heads from `head` on, without keys that are illegal for all its rows. From several threads on the CPU, each row once.
using PatternRowsFn = std::function<void(std::int64_t head, std::int64_t row0, const at::Tensor& rows)>;
void for_pattern_rows(const AttentionInput&, std::int64_t head0, std::int64_t heads, std::int64_t group,
                      const PatternRowsFn& work);
/// Share of the same rows' softmax that the head's sink takes: [heads, rows]. Only where there are sinks.
at::Tensor sink_tile(const AttentionInput&, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows);
/// The same before the softmax; illegal keys -inf.
at::Tensor score_tile(const AttentionInput&, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows);
/// One of DeBERTa's terms of the score (Hook::c2p or Hook::p2c), of the same parts: [heads, rows, key].
at::Tensor relative_term(const AttentionInput&, Hook, std::int64_t head0, std::int64_t heads, std::int64_t row0,
                         std::int64_t rows);
/// One of MLA's parts of the score (Hook::content_scores or Hook::rotary_scores), which sum to it; illegal keys -inf.
at::Tensor score_part(const AttentionInput&, Hook, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows);

}  // namespace headlight::model
