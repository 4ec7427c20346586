// SPDX-License-Identifier: GPL-3.0-or-later
// The state of one forward pass, and its blocks.
#pragma once

#include "model/internals.h"
#include "model/run/forward.h"
#include "model/run/kv_cache.h"
#include "model/run/last_rows.h"

#include <ATen/ATen.h>

namespace headlight::model {

struct TextStack;
struct Pack;

/// cos and sin of every position's angles, [pos, rope_dims / 2]; undefined where no layer rotates so.
struct RopeTable {
    at::Tensor cos, sin;
    at::Tensor growth{};  ///< factor of every query, [pos, 1]; undefined: 1

    /// The table of other rows: `of` makes one of each tensor's.
    template <class Of>
    RopeTable with_rows(const Of& of) const {
        return {of(cos), of(sin), growth.defined() ? of(growth) : growth};
    }
};

struct Pass {
    const Model::Internals& model;
    const ForwardInput& input;
    Observer& observer;
    at::Tensor ids{};       ///< [pos] int64 on the device; of a picture the positions
    at::Tensor type_ids{};  ///< [pos] int64, undefined without token types
    RopeTable rope{}, local_rope{};
    at::Tensor resid_pre{};                ///< of the current layer; in parallel models the MLP reads it
    at::Tensor shared_norm{};              ///< ln1's output, where the MLP reads it too
    at::Tensor buckets{};                  ///< distance_buckets(); undefined: there is no bias by distance
    at::Tensor key_bias{};                 ///< of AttentionInput; undefined: none
    CancelToken cancel{};                  ///< checked between tiles: a layer of a long text takes seconds
    KvCache* cache = nullptr;              ///< keys and values of the tokens before these; nullptr: there are none
    const EarlierRows* earlier = nullptr;  ///< the tokens before these, which observers of patterns see; nullptr: none
    const TextStack* stack = nullptr;      ///< the variants of a text whose rows these are; nullptr: one text
    Pack* pack = nullptr;                  ///< the texts whose rows these are; nullptr: one text
    /// Where the pass ends, since nobody reads what is behind: after `layers` layers, in the last one perhaps after z.
    std::int64_t layers = model.config.n_layers;
    bool ends_at_z = false;
    bool bfloat16_products = !input.exact && has_bfloat16_products(model.compute);

    /// Products with so many rows. A token that is written after others needs each weight and key once, and rounding them takes
    /// longer than their products.
    bool in_bfloat16(std::int64_t rows) const { return bfloat16_products && !(cache && rows == 1); }
    const ModelConfig& config() const { return model.config; }
    std::int64_t tokens() const { return ids.size(0); }
    /// Position of the first token.
    std::int64_t past() const { return earlier ? earlier->rows : cache ? cache->tokens() : 0; }
    bool wants(Hook hook, Layer layer = {}) const { return observer.wants({hook, layer}); }
    /// Passes a tensor through a hook point. Error when the observer returns another shape, dtype or device.
    at::Tensor hook(Hook, Layer, at::Tensor);
    at::Tensor hook(Hook h, at::Tensor t) { return hook(h, Layer(0), std::move(t)); }
};

/// True while gradients of this tensor are being recorded: only ATen's operators and those of own_gradients.h may then touch it.
bool records_gradient(const at::Tensor&);
/// True where the row kernels of kernels.h can be used: CPU, float or double, and no gradient recorded.
bool has_kernels(const at::Tensor&);

/// x W: [rows, in] -> [rows, out], in the type of x.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight);
/// x W + b
at::Tensor apply(const Linear&, const at::Tensor& x);
/// The same as the pass computes its products. (Those of routers and of logits stay in the type of x.)
at::Tensor product(const Pass&, const at::Tensor& x, const at::Tensor& weight);
at::Tensor apply(const Pass&, const Linear&, const at::Tensor& x);

/// LayerNorm or RMSNorm with its two hooks. [pos, d_model]
at::Tensor norm(Pass&, const NormWeights&, const at::Tensor& x, Hook scale, Hook normalized, Layer = {});
/// The norm of queries or keys with its two hooks (shapes as there): [head, pos, d_head].
at::Tensor norm_heads(Pass&, const NormWeights&, const at::Tensor& x, Hook scale, Hook normalized, Layer);
/// The same without hooks, of [pos, head, d_head]: what rotates, from a kept q and k.
at::Tensor normed_heads(const ModelConfig&, const NormWeights&, const at::Tensor& x);

/// Bias and activation after a product without bias; the bias is added to `pre` in place. Returns a new tensor.
at::Tensor bias_and_activate(at::Tensor& pre, const at::Tensor& bias, Activation);
/// The same of a layer's MLP: its activation may have parameters.
at::Tensor bias_and_activate(at::Tensor& pre, const at::Tensor& bias, const ModelConfig&, const LayerWeights&);

/// Sum of the embeddings and, where the model has it, their LayerNorm.
at::Tensor embedding(Pass&, Block, const at::Tensor& so_far);
/// Patches of the picture as rows of the stream, after the class tokens.
at::Tensor patch_embedding(Pass&);
/// The final norm's output, projected to the width that both towers of CLIP share.
at::Tensor project(Pass&, const at::Tensor& x);
/// From resid_pre to resid_mid; undefined where the pass ends before.
at::Tensor attention(Pass&, Layer, const at::Tensor& resid_pre);
/// The same in a layer of Mixer::state_space.
at::Tensor state_space(Pass&, Layer, const at::Tensor& resid_pre);
/// Steps and decays [pos, head], as the map of a state space reads them.
StateFactors state_factors(const at::Tensor& steps, const at::Tensor& decays);
/// From resid_mid to resid_mid_cross, in a decoder with an encoder.
at::Tensor cross_attention(Pass&, Layer, const at::Tensor& resid_mid);
/// From resid_mid (or resid_mid_cross) to resid_post, or to resid_post_mlp if a convolution follows.
at::Tensor mlp(Pass&, Layer, const at::Tensor& resid_mid);
/// From resid_post_mlp to resid_post: adds the convolution of the layer's input. Other layers: unchanged.
at::Tensor convolution(Pass&, Layer, const at::Tensor& resid_pre, const at::Tensor& resid_post_mlp);
/// Rows of logits come from products of this many, beginning with a multiple of it: some rows computed by themselves, from the
/// multiple before them on, equal those of the whole text bit for bit.
constexpr std::int64_t kLogitRows = 128;
/// Unembedding and cap of what the other blocks behind the layers made of the stream: [pos, vocab].
at::Tensor logits(const Model::Internals&, const at::Tensor& x);
/// Final norm, masked-word head and logits.
at::Tensor output(Pass&, Block, const at::Tensor& x);

/// Fills the pass's tables, in its dtype.
void make_rope(Pass&);
/// Rotates rope_dims of each head's numbers, from first_rotated() on (Su et al. 2021): numbers a half apart (Llama) or neighbours
/// (GPT-J) are a pair. [head, pos, d_head]
at::Tensor rotate(const Pass&, Layer, const at::Tensor& x);
/// Queries [head, pos, d_head] times what their positions say (QueryGrowth).
at::Tensor grown(const Pass&, Layer, const at::Tensor& queries);
/// Both outside of a pass, of positions from `first` on in a text of so many tokens: [any, pos, d_head] on the CPU.
at::Tensor rotate_rows(const Model::Internals&, Layer, const at::Tensor& x, bool queries, std::int64_t first,
                       std::int64_t tokens);

}  // namespace headlight::model
