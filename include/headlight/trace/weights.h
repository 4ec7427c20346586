// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of a model as the analyses read them. With torch in it: for src/analyze and tests, never for figure or ui.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/model/model.h"

#include <ATen/ATen.h>

namespace headlight::trace {

/// A LayerNorm or RMSNorm: y = (x - mean) / scale * gain + bias (RMSNorm: no mean).
struct NormTensors {
    at::Tensor gain;  ///< [d_model]; undefined: the model has no such norm
    at::Tensor bias;  ///< [d_model]; undefined: none
};

/// Math orientation: x W. Everything is in the model's compute type, on the CPU: views of the model's memory where its layout
/// allows, copies where the model is on a GPU. Biases that a model lacks are undefined.
struct AttentionTensors {
    at::Tensor w_q, b_q;  ///< [head, d_model, d_head], [head, d_head]
    at::Tensor w_k, b_k;  ///< [kv_head, d_model, d_head], [kv_head, d_head]
    at::Tensor w_v, b_v;  ///< [kv_head, d_model, d_value], [kv_head, d_value]
    at::Tensor w_o;       ///< [head, d_value, d_model]
    at::Tensor b_o;       ///< [d_model]
    NormTensors norm;     ///< before attention; post-norm models: behind the sum with the stream
    NormTensors branch;   ///< of what attention gives, before it is added (Gemma 2, OLMo 2)
    /// Latent attention (DeepSeek): w_q and w_k are of the content alone, [head, d_model, content], and with w_v they go
    /// through the latents: with the gain of a latent's norm and without its scale, which is the length (root of the mean
    /// square) of x times these: [d_model, rank]. Undefined: no such norm.
    at::Tensor w_q_latent, w_kv_latent;
};
AttentionTensors attention_weights(const model::Model&, Layer);
/// Only w_o, b_o and norm: no copy of a fused q, k and v.
AttentionTensors attention_output(const model::Model&, Layer);
/// F with |z W_O| = |z F| for every z of a head, [head, d_value, d_value] float32 on the CPU; made once a model.
at::Tensor length_factors(const model::Model&, Layer);

/// Where the layer has experts: all their hidden units one after another, then the shared expert's.
struct MlpTensors {
    at::Tensor w_in, b_in;    ///< [d_model, d_mlp], [d_mlp]; the gate's branch of a gated MLP
    at::Tensor w_up, b_up;    ///< the linear branch of a gated MLP; undefined in others
    at::Tensor w_out, b_out;  ///< [d_mlp, d_model], [d_model]
    at::Tensor
        b_experts;     ///< [expert, d_model] biases of experts, which count times the expert's weight (GPT-OSS); undefined: none
    NormTensors norm;  ///< before the MLP (ln1 where it reads what attention reads); post-norm models: behind the sum
    NormTensors branch;  ///< of what the MLP gives, before it is added
};
MlpTensors mlp_weights(const model::Model&, Layer);

// The next two and token_streams: Error where a model reads pictures.
at::Tensor embedding(
    const model::Model&);  ///< W_E [vocab, d_model] (ALBERT, ELECTRA: [vocab, d_embed]); scaled as the model does
at::Tensor stream_embedding(const model::Model&);    ///< W_E, projected where embeddings are narrower: [vocab, d_model]
NormTensors embedding_norm(const model::Model&);     ///< undefined gain: none
NormTensors convolution_norm(const model::Model&);   ///< behind DeBERTa's convolution; undefined gain: none
at::Tensor position_embedding(const model::Model&);  ///< W_pos [context, d_model], undefined: none
NormTensors final_norm(const model::Model&);         ///< undefined gain: none (post-norm models)
/// The layer between the stream and the unembedding (ModelConfig::class_head, mlm_head), before its activation, and the norm
/// behind it.
struct DenseHeadTensors {
    at::Tensor weight, bias;  ///< [d_model, d_model], [d_model]; undefined: no such layer, no bias
    NormTensors norm;         ///< undefined gain: none
};
DenseHeadTensors dense_head(const model::Model&);
at::Tensor unembed(const model::Model&);       ///< W_U [d_model, vocab] (ALBERT, ELECTRA: [d_embed, vocab]); Error: none
at::Tensor unembed_bias(const model::Model&);  ///< [vocab], undefined: none
/// What ALiBi adds to the score of every key, up to a number of the query's: [head, key] float64 on the CPU; undefined: no ALiBi.
at::Tensor alibi_bias(const model::Model&, std::int64_t tokens);

/// The activation of a layer's MLP, of a tensor of any shape; a new tensor.
at::Tensor activate(const model::Model&, Layer, const at::Tensor&);

/// What stands for the tokens [first, first + count) in the stream, without positions and with token type 0:
/// [count, d_model]. Before block 0 (behind the embedding norm where there is one), or after it with the output of its
/// attention left out: W_E + MLP0 (McDougall et al. 2023's effective embedding).
at::Tensor token_streams(const model::Model&, std::int64_t first, std::int64_t count, bool after_block_0);

/// From a residual stream [..., d_model] to logits [..., vocab], through the final norm (its statistics taken from the
/// given stream) and the unembedding, or through the whole masked-word head; what the pass itself does.
/// Error without unembedding.
at::Tensor logits_of(const model::Model&, const at::Tensor& stream);

}  // namespace headlight::trace
