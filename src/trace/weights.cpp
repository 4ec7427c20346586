// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/weights_in_parts.h"

#include "headlight/base/error.h"
#include "headlight/trace/saved.h"
#include "model/arithmetic/on_cpu.h"
#include "model/blocks/pass.h"
#include "model/internals.h"

#include <ATen/core/grad_mode.h>

namespace headlight::trace {
namespace {

using model::on_cpu;

void require_layer(const model::Model& model, Layer layer) {
    require_weights(model);
    const auto& layers = model.internals().layers;
    if (layer.value >= 0 && layer.value < static_cast<std::int64_t>(layers.size())) return;
    throw Error({.problem = "There is no such layer",
                 .expected = "0 to " + std::to_string(layers.size() - 1),
                 .found = std::to_string(layer.value)});
}

std::shared_ptr<const model::LayerWeights> layer_of(const model::Model& model, Layer layer, model::LayerPart part) {
    require_layer(model, layer);
    return model::weights_of(model.internals(), layer, part);
}

NormTensors tensors_of(const model::NormWeights& norm) { return {on_cpu(norm.gain), on_cpu(norm.bias)}; }

/// [d_model, heads * d_head] -> [head, d_model, d_head]
at::Tensor by_head(const at::Tensor& weight, std::int64_t heads) {
    return on_cpu(weight).unflatten(1, std::vector<std::int64_t>{heads, weight.size(1) / heads}).transpose(0, 1);
}

at::Tensor bias_by_head(const at::Tensor& bias, std::int64_t heads) {
    return bias.defined() ? on_cpu(bias).view({heads, bias.size(0) / heads}) : bias;
}

}  // namespace

void require_unembedding(const model::Model& model) {
    require_weights(model);
    if (model.internals().unembed.weight.defined()) return;
    throw Error({.problem = "This model has no unembedding: it gives no logits",
                 .file = model.folder().string(),
                 .hint = "Open a model with a language-model or masked-word head"});
}

namespace {

/// What latent attention amounts to where the scales of the latents' norms are left out.
AttentionTensors latent_weights(const model::Model& model, Layer layer) {
    const model::ModelConfig& c = model.config();
    const auto held = layer_of(model, layer, model::LayerPart::attention);
    const model::LayerWeights& w = *held;
    const at::NoGradGuard no_grad;
    const std::int64_t content = c.latent.content;
    AttentionTensors out = attention_output(model, layer);
    // Columns [first, + count) of every head, behind what leads to the latent: [head, d_model, count].
    const auto through = [&](const at::Tensor& down, const at::Tensor& up, std::int64_t first, std::int64_t count) {
        const std::vector<std::int64_t> by_head = {c.n_heads, up.size(1) / c.n_heads};
        const at::Tensor heads = on_cpu(up).unflatten(1, by_head).narrow(2, first, count).transpose(0, 1);
        return down.defined() ? at::matmul(down, heads) : heads;
    };
    if (w.q_down.weight.defined()) {
        out.w_q_latent = on_cpu(w.q_down.weight);
        out.w_q = through(out.w_q_latent * on_cpu(w.q_latent_gain), w.q.weight, 0, content);
    } else {
        out.w_q = through({}, w.q.weight, 0, content);
    }
    out.w_kv_latent = on_cpu(w.kv_down.weight).narrow(1, 0, c.latent.rank);
    const at::Tensor down = out.w_kv_latent * on_cpu(w.latent_gain);
    out.w_k = through(down, w.kv_up.weight, 0, content);
    out.w_v = through(down, w.kv_up.weight, content, model::value_width(c));
    return out;
}

}  // namespace

AttentionTensors attention_weights(const model::Model& model, Layer layer) {
    const model::ModelConfig& c = model.config();
    model::require_attention(c, layer.value, "What reads W_Q, W_K and W_V");
    const auto held = layer_of(model, layer, model::LayerPart::attention);  // made once for all that read it below
    if (c.latent.any()) return latent_weights(model, layer);
    const model::Linear q = model::qkv_part(model.internals(), layer, model::QkvPart::q);
    const model::Linear k = model::qkv_part(model.internals(), layer, model::QkvPart::k);
    const model::Linear v = model::qkv_part(model.internals(), layer, model::QkvPart::v);
    AttentionTensors out = attention_output(model, layer);
    out.w_q = by_head(q.weight, c.n_heads);
    out.b_q = bias_by_head(q.bias, c.n_heads);
    out.w_k = by_head(k.weight, c.n_kv_heads);
    out.b_k = bias_by_head(k.bias, c.n_kv_heads);
    out.w_v = by_head(v.weight, c.n_kv_heads);
    out.b_v = bias_by_head(v.bias, c.n_kv_heads);
    return out;
}

AttentionTensors attention_output(const model::Model& model, Layer layer) {
    const model::ModelConfig& c = model.config();
    const auto held = layer_of(model, layer, model::LayerPart::attention);
    const model::LayerWeights& w = *held;
    AttentionTensors out;
    out.w_o = on_cpu(w.o.weight).unflatten(0, std::vector<std::int64_t>{c.n_heads, model::value_width(c)});
    out.b_o = on_cpu(w.o.bias);
    out.norm = tensors_of(w.ln1);
    out.branch = tensors_of(w.ln1_post);
    return out;
}

at::Tensor length_factors(const model::Model& model, Layer layer) {
    require_layer(model, layer);
    return model::length_factors(model.internals(), layer);
}

LayerVectors layer_vectors(const model::Model& model, Layer layer) {
    require_layer(model, layer);
    const model::LayerWeights& w = model.internals().layers[static_cast<std::size_t>(layer.value)];
    return {.attention = tensors_of(w.ln1),
            .attention_branch = tensors_of(w.ln1_post),
            .mlp = tensors_of(model.config().shared_norm ? w.ln1 : w.ln2),
            .mlp_branch = tensors_of(w.ln2_post),
            .b_o = on_cpu(w.o.bias),
            .b_out = on_cpu(w.mlp_out.bias)};
}

MlpTensors mlp_weights(const model::Model& model, Layer layer) {
    require_layer(model, layer);
    if (!has_mlp(model.config(), layer.value))
        throw Error({.problem = "This layer has no MLP", .file = model.folder().string(), .item = std::to_string(layer.value)});
    const auto held = layer_of(model, layer, model::LayerPart::mlp);
    const model::LayerWeights& w = *held;
    return {.w_in = on_cpu(w.mlp_in.weight),
            .b_in = on_cpu(w.mlp_in.bias),
            .w_up = on_cpu(w.mlp_up.weight),
            .b_up = on_cpu(w.mlp_up.bias),
            .w_out = on_cpu(w.mlp_out.weight),
            .b_out = on_cpu(w.mlp_out.bias),
            .b_experts = on_cpu(w.expert_bias),
            .norm = tensors_of(model.config().shared_norm ? w.ln1 : w.ln2),
            .branch = tensors_of(w.ln2_post)};
}

namespace {

/// Of a text without the token that ESM drops.
double embedding_scale(const model::ModelConfig& c) { return c.embed_scale * c.kept_share; }

void require_token_embedding(const model::Model& model) {
    if (!model::reads_pictures(model.config())) return;
    throw Error({.problem = "This model reads pictures: it has no embedding of tokens", .item = model.config().name});
}

}  // namespace

at::Tensor embedding(const model::Model& model) { return embedding(model, 0, model.config().vocab_size); }
at::Tensor embedding(const model::Model& model, std::int64_t first, std::int64_t count) {
    require_token_embedding(model);
    const at::Tensor w_e = on_cpu(model::embedding_rows(model.internals(), first, count));
    const double scale = embedding_scale(model.config());
    return scale == 1.0 ? w_e : w_e * scale;
}
at::Tensor stream_embedding(const model::Model& model) { return stream_embedding(model, 0, model.config().vocab_size); }
at::Tensor stream_embedding(const model::Model& model, std::int64_t first, std::int64_t count) {
    const at::NoGradGuard no_grad;
    const at::Tensor w_e = embedding(model, first, count);
    return model.config().d_embed > 0 ? at::mm(w_e, on_cpu(model.internals().embed_projection.weight)) : w_e;
}
NormTensors embedding_norm(const model::Model& model) { return tensors_of(model.internals().embed_norm); }
NormTensors convolution_norm(const model::Model& model) { return tensors_of(model.internals().conv_norm); }
at::Tensor position_embedding(const model::Model& model) { return on_cpu(model.internals().pos_embed); }
NormTensors final_norm(const model::Model& model) { return tensors_of(model.internals().final_norm); }

DenseHeadTensors dense_head(const model::Model& model) {
    const model::Model::Internals& m = model.internals();
    return {.weight = on_cpu(m.mlm.weight), .bias = on_cpu(m.mlm.bias), .norm = tensors_of(m.mlm_norm)};
}

at::Tensor unembed(const model::Model& model) {
    require_unembedding(model);
    return unembed(model, 0, model.internals().unembed.weight.size(1));
}

at::Tensor unembed(const model::Model& model, std::int64_t first, std::int64_t count) {
    require_unembedding(model);
    return on_cpu(model::unembedding_columns(model.internals(), first, count));
}

at::Tensor unembed_bias(const model::Model& model) { return on_cpu(model.internals().unembed.bias); }

at::Tensor alibi_bias(const model::Model& model, std::int64_t tokens) {
    const model::ModelConfig& c = model.config();
    return c.positions == model::Positions::alibi ? model::alibi_bias(c, tokens) : at::Tensor();
}

at::Tensor activate(const model::Model& model, Layer layer, const at::Tensor& x) {
    const at::NoGradGuard no_grad;
    at::Tensor pre = x.contiguous();
    const auto held = model::weights_of(model.internals(), layer, model::LayerPart::mlp);
    return model::bias_and_activate(pre, {}, model.config(), *held);
}

at::Tensor token_streams(const model::Model& model, std::int64_t first, std::int64_t count, bool after_block_0) {
    require_token_embedding(model);
    const at::NoGradGuard no_grad;
    const model::Model::Internals& m = model.internals();
    const model::ForwardInput input;
    model::NoObserver nobody;
    model::Pass pass{.model = m, .input = input, .observer = nobody};
    at::Tensor x = model::embedding_rows(m, first, count);
    if (const double scale = embedding_scale(m.config); scale != 1.0) x = x * scale;
    if (m.token_type_embed.defined()) x = x + m.token_type_embed.select(0, 0);
    if (m.config.embed_norm) x = model::embedding(pass, model::Block::embedding_norm, x);
    if (m.config.d_embed > 0) x = model::embedding(pass, model::Block::embedding_projection, x);
    if (!after_block_0) return on_cpu(x);
    if (m.config.convolution.any())
        throw Error(
            {.problem =
                 "Block 0's output for a single token is undefined for this model: a convolution beside it reads the neighbours",
             .item = m.config.name,
             .hint = "Take the embedding as it is"});
    const model::LayerWeights& w = m.layers.front();  // its norms
    if (m.config.parallel) pass.resid_pre = x;
    if (m.config.shared_norm) pass.shared_norm = model::norm(pass, w.ln1, x, model::Hook::ln1_scale, model::Hook::ln1_normalized);
    // What attention would have written is 0; the norm around it stays.
    if (m.config.post_norm || m.config.residual_after_norm)
        x = model::norm(pass, w.ln1, x, model::Hook::ln1_scale, model::Hook::ln1_normalized);
    return on_cpu(model::mlp(pass, Layer(0), x));
}

at::Tensor logits_of(const model::Model& model, const at::Tensor& stream) {
    require_unembedding(model);
    const at::NoGradGuard no_grad;
    const model::Model::Internals& m = model.internals();
    const model::ForwardInput input;
    model::NoObserver nobody;
    model::Pass pass{.model = m, .input = input, .observer = nobody};
    std::vector<std::int64_t> shape = stream.sizes().vec();
    at::Tensor x = stream.to(m.device, m.dtype).reshape({-1, stream.size(-1)});
    for (const model::Block block : m.spec.after) x = model::output(pass, block, x);
    shape.back() = x.size(-1);
    return on_cpu(x).reshape(shape);
}

}  // namespace headlight::trace
