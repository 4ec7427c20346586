// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/experts.h"
#include "model/blocks/pass.h"

namespace headlight::model {
namespace {

/// act(x W_in + b) or, gated, act(x W_gate + b) * (x W_up + b): [pos, d_mlp].
at::Tensor hidden(Pass& pass, Layer layer, const at::Tensor& x) {
    const auto held = weights_of(pass.model, layer, LayerPart::mlp);
    const LayerWeights& w = *held;
    at::Tensor pre = product(pass, x, w.mlp_in.weight);
    at::Tensor post = bias_and_activate(pre, w.mlp_in.bias, pass.config(), w);
    const at::Tensor seen = pass.hook(Hook::mlp_pre, layer, pre);
    if (!seen.is_same(pre)) {  // replaced: once more, from what came back
        pre = seen.contiguous();
        post = bias_and_activate(pre, {}, pass.config(), w);
    }
    if (!pass.config().gated_mlp) return post;
    const at::Tensor up = pass.hook(Hook::mlp_pre_linear, layer, apply(pass, w.mlp_up, x));
    return post.mul_(up);
}

}  // namespace

at::Tensor mlp(Pass& pass, Layer layer, const at::Tensor& resid_mid) {
    const auto held = weights_of(pass.model, layer, LayerPart::mlp);
    const LayerWeights& w = *held;
    const ModelConfig& c = pass.config();
    at::Tensor x = c.parallel ? pass.resid_pre : resid_mid;
    if (c.shared_norm)
        x = pass.shared_norm;
    else if (norm_before_mlp(c))
        x = norm(pass, w.ln2, x, Hook::ln2_scale, Hook::ln2_normalized, layer);
    at::Tensor out = has_experts(c, layer.value)
                         ? experts(pass, layer, x)
                         : apply(pass, w.mlp_out, pass.hook(Hook::mlp_post, layer, hidden(pass, layer, x)));
    if (c.branch_norm) out = norm(pass, w.ln2_post, out, Hook::ln2_post_scale, Hook::ln2_post_normalized, layer);
    out = pass.hook(Hook::mlp_out, layer, out);
    at::Tensor resid = (c.residual_after_norm ? x : resid_mid) + out;
    if (c.post_norm) resid = norm(pass, w.ln2, resid, Hook::ln2_scale, Hook::ln2_normalized, layer);
    return pass.hook(has_convolution(c, layer.value) ? Hook::resid_post_mlp : Hook::resid_post, layer, resid);
}

}  // namespace headlight::model
