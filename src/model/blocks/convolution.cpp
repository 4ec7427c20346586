// SPDX-License-Identifier: GPL-3.0-or-later
// The convolution beside layer 0 of the larger DeBERTa-v2.
#include "model/blocks/pack.h"
#include "model/blocks/text_stack.h"

#include <vector>

namespace headlight::model {
namespace {

/// Each token with its neighbours, zeros beyond both ends, in the order of the kernel: [pos, d_model, width].
at::Tensor neighbourhoods(const at::Tensor& x, std::int64_t width) {
    const at::Tensor zeros = at::zeros({width / 2, x.size(1)}, x.options());
    return at::cat({zeros, x, zeros}).unfold(0, width, 1);
}

/// Of each text alone.
at::Tensor neighbourhoods(const Pass& pass, const at::Tensor& x, std::int64_t width) {
    std::vector<at::Tensor> texts;
    if (pass.stack)  // of an encoder: each has all its rows
        for (const StackedText& text : pass.stack->texts)
            texts.push_back(neighbourhoods(x.narrow(0, text.start, pass.stack->tokens), width));
    else if (pass.pack)
        for (std::size_t i = 0; i < pass.pack->texts.size(); ++i)
            texts.push_back(neighbourhoods(pass.pack->of_text(i, x), width));
    return texts.empty() ? neighbourhoods(x, width) : at::cat(texts);
}

/// Without the bias: [pos, d_model].
at::Tensor convolved(const Pass& pass, const Convolution& c, const at::Tensor& x) {
    const at::Tensor around = neighbourhoods(pass, x, c.width), &weight = pass.model.conv.weight;
    const std::int64_t width = x.size(1) / c.groups;  // of a group, read and written
    std::vector<at::Tensor> groups;
    for (std::int64_t g = 0; g < c.groups; ++g)
        groups.push_back(
            product(pass, around.narrow(1, g * width, width).reshape({x.size(0), -1}), weight.narrow(1, g * width, width)));
    return c.groups == 1 ? groups.front() : at::cat(groups, 1);
}

}  // namespace

at::Tensor convolution(Pass& pass, Layer layer, const at::Tensor& resid_pre, const at::Tensor& resid_post_mlp) {
    const Model::Internals& m = pass.model;
    if (!has_convolution(m.config, layer.value)) return resid_post_mlp;
    const Convolution& c = m.config.convolution;
    at::Tensor pre = convolved(pass, c, resid_pre);
    at::Tensor out = bias_and_activate(pre, m.conv.bias, c.activation);
    const at::Tensor seen = pass.hook(Hook::conv_pre, layer, pre);
    if (!seen.is_same(pre)) {  // replaced: once more, from what came back
        pre = seen.contiguous();
        out = bias_and_activate(pre, {}, c.activation);
    }
    out = pass.hook(Hook::conv_out, layer, out);
    const at::Tensor resid = norm(pass, m.conv_norm, resid_post_mlp + out, Hook::ln_conv_scale, Hook::ln_conv_normalized, layer);
    return pass.hook(Hook::resid_post, layer, resid);
}

}  // namespace headlight::model
