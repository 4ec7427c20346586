// SPDX-License-Identifier: GPL-3.0-or-later
// A decoder layer's second attention: queries from its stream, keys and values from the encoder's output.
#include "model/blocks/attend.h"
#include "model/blocks/text_stack.h"

namespace headlight::model {

at::Tensor cross_attention(Pass& pass, Layer layer, const at::Tensor& resid_mid) {
    const auto held = weights_of(pass.model, layer, LayerPart::attention);
    const LayerWeights& w = *held;
    const ModelConfig& c = pass.config();
    const at::Tensor source = pass.stack ? pass.stack->sources.flatten(0, 1) : pass.input.source;
    const AttentionHooks& hooks = kCrossAttention;
    const auto with_norm = [&](const at::Tensor& x) {
        return norm(pass, w.ln_cross, x, Hook::ln_cross_scale, Hook::ln_cross_normalized, layer);
    };
    const auto heads = [&](Hook hook, const Linear& linear, const at::Tensor& x) {
        return hook_heads(pass, hook, layer,
                          split_heads(product(pass, x, linear.weight), linear.bias, c.n_heads, c.d_head, 0, c.d_head));
    };
    const at::Tensor x = c.post_norm ? resid_mid : with_norm(resid_mid);
    const at::Tensor q = heads(hooks.q, w.cross_q, x), k = heads(hooks.k, w.cross_k, source),
                     v = heads(hooks.v, w.cross_v, source);
    const auto input = [&](const at::Tensor& queries, const at::Tensor& keys) {
        return AttentionInput{.q = queries,
                              .k = keys,
                              .alibi_slopes = {},
                              .scale = score_scale_of(c, layer.value),
                              .causal = false,
                              .bfloat16_products = pass.in_bfloat16(queries.size(1))};
    };
    at::Tensor z;
    if (pass.stack) {
        z = pass.hook(hooks.z, layer, attend_stacked(*pass.stack, {hooks.pattern, layer}, q, k, v, input));
    } else {
        const AttentionInput in = input(q, k);
        pass.observer.cross_attention_input(layer, in);
        z = attend(pass, layer, hooks, in, v);
    }
    const at::Tensor out = pass.hook(Hook::cross_attn_out, layer, combine_heads(pass, layer, hooks, w.cross_o, z));
    at::Tensor resid = resid_mid + out;
    if (c.post_norm) resid = with_norm(resid);
    return pass.hook(Hook::resid_mid_cross, layer, resid);
}

}  // namespace headlight::model
