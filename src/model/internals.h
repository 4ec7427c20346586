// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of a loaded model as tensors (Slot). Internal to src/model and src/trace.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/base/memory_account.h"
#include "headlight/model/model.h"
#include "model/families/family.h"

#include <ATen/ATen.h>

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace headlight::model {

/// y = x W + b. W is [in, out] in math orientation; where the file keeps [out, in] it is a transposed view of the
/// file's memory, not a copy. The bias is undefined where the model has none.
struct Linear {
    at::Tensor weight;
    at::Tensor bias;
};

struct NormWeights {
    at::Tensor gain;
    at::Tensor bias;  ///< undefined for RMSNorm
};

/// Parameters of Activation::xielu, one number a layer each: x > 0: softplus(positive) x^2 + beta x, else
/// (beta + softplus(negative)) (expm1(min(x, eps)) - x) + beta x.
struct XieluWeights {
    at::Tensor positive, negative, beta, eps;
};

struct LayerWeights {
    NormWeights ln1, ln2;
    NormWeights ln1_post, ln2_post;  ///< after attention and MLP, before their outputs are added
    NormWeights q_norm, k_norm;
    Linear q, k, v;                         ///< [d_model, heads * d_head]; undefined if qkv is defined
    Linear qkv;                             ///< the three in one matrix, columns by qkv_layout; see qkv_part()
    Linear o;                               ///< W_O of head h: rows [h * d_value, (h + 1) * d_value)
    Linear q_down, kv_down, kv_up;          ///< latent attention; q reads the latent if q_down is defined
    at::Tensor q_latent_gain, latent_gain;  ///< of the latents' norms
    at::Tensor sinks;  ///< [head] float64 on the CPU, the score of each head's sink; undefined: there are none
    Linear mlp_in;     ///< the gate of a gated MLP
    Linear mlp_up;     ///< the linear branch of a gated MLP
    Linear mlp_out;
    XieluWeights xielu;
    NormWeights ln_cross;  ///< of the attention to an encoder's output
    Linear cross_q, cross_k, cross_v, cross_o;
    Linear router, shared_gate;        ///< [d_model, experts], [d_model, 1]; the three above then hold all experts' hidden units
    at::Tensor router_correction;      ///< [expert]; undefined: none
    at::Tensor expert_bias;            ///< [expert, d_model] what each adds to the stream, times its weight; undefined: nothing
    Linear relative_q, relative_k;     ///< of relative positions (DeBERTa); undefined if q and k are shared
    at::Tensor relative_bias;          ///< [buckets, head]; undefined: that of the model, if there is one
    at::Tensor attn_scale, mlp_scale;  ///< [d_model], already in o and mlp_out; undefined: none
    Linear in_proj, mixer_conv;        ///< of a state space; undefined in attention
    at::Tensor step_bias, rate_log, skip, gate_norm;  ///< likewise
    at::Tensor relative_rows;  ///< [2 span - 1, d_head], what queries and keys meet (Disentangled::by_layer)
};

class WeightsAsUsed;

struct Model::Internals {
    static std::shared_ptr<const Model> model_of(std::unique_ptr<Internals> internals) {
        return std::shared_ptr<const Model>(new Model(std::move(internals)));
    }

    ModelConfig config;
    LoadReport report;
    std::filesystem::path folder;
    ComputeType compute = ComputeType::float32;
    at::ScalarType dtype = at::kFloat;
    at::Device device = at::kCPU;

    QkvLayout qkv_layout = QkvLayout::separate;
    Spec spec;
    at::Tensor embed;             ///< W_E [vocab, d_model]
    at::Tensor pos_embed;         ///< [context, d_model]
    at::Tensor token_type_embed;  ///< [types, d_model]
    NormWeights embed_norm, final_norm, mlm_norm;
    Linear embed_projection;
    Linear patch;                           ///< [colour * patch_size^2, d_model]: the convolution as a product
    at::Tensor class_embed, distill_embed;  ///< [d_model]; undefined: no such token
    at::Tensor register_embed;              ///< [registers, d_model]; undefined: none
    Linear projection;                      ///< [d_model, d_projection]; undefined: none
    Linear mlm;
    Linear unembed;               ///< W_U [d_model, vocab], a view of the embedding when tied; undefined without one
    at::Tensor alibi_slopes;      ///< [head] float64 on the device; undefined: no ALiBi, or Falcon's
    at::Tensor rope_frequencies;  ///< as a file keeps them; undefined: those of the configuration, which has them in the end
    at::Tensor relative_bias;     ///< [buckets, head]; undefined: none, or each layer has its own
    at::Tensor relative_embed;    ///< [2 span, d_model], after its norm; undefined: no relative positions
    NormWeights relative_norm;
    Linear conv;  ///< [d_model / groups * width, d_model]: the convolution beside layer 0 as a product
    NormWeights conv_norm;
    std::vector<LayerWeights> layers;  ///< whoever reads matrices takes weights_of()
    /// Where this is set, matrices of the layers and of the vocabulary stay in their files. What stands here of them has a
    /// shape and no memory (a tensor on the meta device).
    std::shared_ptr<const WeightsAsUsed> as_used;
    std::int64_t bytes_as_used = 0;               ///< of these, in the files
    std::int64_t bytes_converted = 0;             ///< of weights that lie in memory of the program's own
    MemoryAccount account{MemoryUse::weights};    ///< of bytes_converted
    std::shared_ptr<const Model> encoder, cross;  ///< of an encoder-decoder model; the model itself is the decoder

    mutable std::once_flag hash_once;
    mutable std::string hash;
    mutable std::mutex length_factors_mutex;
    mutable std::vector<at::Tensor> length_factors;  ///< [layer], cache of length_factors()
};

/// The halves of a layer: attention with its norms (a decoder's second attention too), and MLP or experts.
enum class LayerPart { attention, mlp };
/// A layer's weights. Where they are converted as they are used, only the part's matrices have numbers, and they go when the last
/// pointer and the last of their tensors do: ask for a layer at a time. Errors: see WeightsAsUsed.
std::shared_ptr<const LayerWeights> weights_of(const Model::Internals&, Layer, LayerPart);
at::Tensor embedding_rows(const Model::Internals&, const at::Tensor& ids);                        ///< [id, width of embed]
at::Tensor embedding_rows(const Model::Internals&, std::int64_t first, std::int64_t count);       ///< [count, width of embed]
at::Tensor unembedding_columns(const Model::Internals&, std::int64_t first, std::int64_t count);  ///< [d_model, count]

/// R of every head with R R^T = W_O W_O^T, so that |x W_O| = |x R| for any x [d_head] at the cost of d_head instead of d_model:
/// [head, d_head, d_head] float32 on the CPU. Made once for a layer, in float64.
at::Tensor length_factors(const Model::Internals&, Layer);
/// Rows of the tables of biases for the distances in a text of so many tokens: [2 tokens - 1], on the model's device.
at::Tensor distance_buckets(const Model::Internals&, std::int64_t tokens);
/// The bias of a score by distance, as AttentionInput takes it: [head, 2 tokens - 1].
at::Tensor relative_bias(const Model::Internals&, Layer, const at::Tensor& buckets);

enum class QkvPart { q, k, v };
/// W_Q, W_K or W_V with its bias, whatever the layout: [d_model, heads * d_head]. A copy for BLOOM's interleaved matrix.
Linear qkv_part(const Model::Internals&, Layer, QkvPart);

/// ALiBi's slope of every head (Press et al. 2022, section 3; heads that are not a power of two as in BLOOM or MPT): [head]
/// float64.
at::Tensor alibi_slopes(const ModelConfig&);
at::Tensor alibi_slopes(std::int64_t n_heads);  ///< BLOOM's
/// What ALiBi adds to the score of every key, up to a number of the query's: [head, key] float64.
at::Tensor alibi_bias(const ModelConfig&, std::int64_t tokens);

}  // namespace headlight::model
