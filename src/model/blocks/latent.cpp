// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/latent.h"

#include "model/blocks/attend.h"

namespace headlight::model {
namespace {

/// RMSNorm with the latents' epsilon; narrow types are normalised in float, as the reference does.
at::Tensor normed(const at::Tensor& x, const at::Tensor& gain, double epsilon) {
    const at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    const at::Tensor n = wide * (wide.square().mean(-1, true) + epsilon).rsqrt();
    return n.to(x.scalar_type()) * gain;
}

}  // namespace

std::array<at::Tensor, 3> latent_qkv(Pass& pass, Layer layer, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    const auto held = weights_of(pass.model, layer, LayerPart::attention);
    const LayerWeights& w = *held;
    const Latent& l = c.latent;
    at::Tensor from = x;
    if (l.query_rank > 0) from = pass.hook(Hook::q_latent, layer, normed(apply(pass, w.q_down, x), w.q_latent_gain, l.epsilon));
    at::Tensor q = split_heads(product(pass, from, w.q.weight), {}, c.n_heads, c.d_head, 0, c.d_head);
    q = hook_heads(pass, Hook::q, layer, q);

    const at::Tensor down = apply(pass, w.kv_down, x);  // the latent, then the key that rotates
    const at::Tensor latent = pass.hook(Hook::latent, layer, normed(down.narrow(1, 0, l.rank), w.latent_gain, l.epsilon));
    const std::int64_t values = value_width(c), step = l.content + values;
    const at::Tensor up = product(pass, latent, w.kv_up.weight);
    const at::Tensor content = split_heads(up, {}, c.n_heads, l.content, 0, step);
    const at::Tensor rotary = down.narrow(1, l.rank, c.d_head - l.content).unsqueeze(0);
    const at::Tensor k = at::cat({content, rotary.expand({c.n_heads, x.size(0), c.d_head - l.content})}, 2);
    const at::Tensor v = split_heads(up, {}, c.n_heads, values, l.content, step);
    return {q, hook_heads(pass, Hook::k, layer, k), hook_heads(pass, Hook::v, layer, v)};
}

}  // namespace headlight::model
