// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/pass.h"

namespace headlight::model {

at::Tensor embedding(Pass& pass, Block block, const at::Tensor& so_far) {
    const Model::Internals& m = pass.model;
    const auto plus = [&](const at::Tensor& t) { return so_far.defined() ? so_far + t : t; };
    switch (block) {
        case Block::token_embedding: return plus(pass.hook(Hook::embed, m.embed.index_select(0, pass.ids)));
        case Block::position_embedding:
            // A copy: what a hook keeps must not be the weights' own memory.
            return plus(pass.hook(Hook::pos_embed, m.pos_embed.narrow(0, pass.past(), pass.tokens()).clone()));
        case Block::token_type_embedding:
            return plus(pass.hook(Hook::token_type_embed, m.token_type_embed.index_select(0, pass.type_ids)));
        default: return norm(pass, m.embed_norm, so_far, Hook::embed_norm_scale, Hook::embed_norm_normalized);
    }
}

at::Tensor output(Pass& pass, Block block, const at::Tensor& x) {
    const Model::Internals& m = pass.model;
    switch (block) {
        case Block::final_norm: return norm(pass, m.final_norm, x, Hook::ln_final_scale, Hook::ln_final_normalized);
        case Block::mlm_head: {
            at::Tensor pre = at::mm(x, m.mlm.weight);
            at::Tensor post = bias_and_activate(pre, m.mlm.bias, m.config.activation);
            const at::Tensor seen = pass.hook(Hook::mlm_pre, pre);
            if (!seen.is_same(pre)) {
                pre = seen.contiguous();
                post = bias_and_activate(pre, {}, m.config.activation);
            }
            post = pass.hook(Hook::mlm_post, post);
            return norm(pass, m.mlm_norm, post, Hook::mlm_ln_scale, Hook::mlm_ln_normalized);
        }
        default: return pass.hook(Hook::logits, apply(m.unembed, x));
    }
}

}  // namespace headlight::model
