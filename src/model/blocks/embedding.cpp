// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/pack.h"
#include "model/run/steps.h"

#include <vector>

namespace headlight::model {
namespace {

/// Rows of the position table, consecutive; padding tokens share one row and are not counted (RoBERTa).
at::Tensor position_rows(const Pass& pass) {
    if (pass.pack) {
        std::vector<at::Tensor> rows;
        for (const Pass& text : pass.pack->texts) rows.push_back(position_rows(text));
        return at::cat(rows);
    }
    const ModelConfig& c = pass.config();
    const std::int64_t first = c.position_offset + pass.past();
    if (c.position_pad_id < 0) return at::arange(first, first + pass.tokens(), pass.ids.options());
    const at::Tensor counts = pass.ids.ne(c.position_pad_id).to(at::kLong);
    return counts.cumsum(0) * counts + (c.position_offset - 1);
}

/// The factor rounded to the computation's type, as in the reference.
at::Scalar scale_in(const at::Tensor& x, double scale) {
    return x.scalar_type() == at::kBFloat16
               ? at::Scalar(static_cast<double>(static_cast<float>(at::BFloat16(static_cast<float>(scale)))))
               : at::Scalar(scale);
}

}  // namespace

at::Tensor embedding(Pass& pass, Block block, const at::Tensor& so_far) {
    const Model::Internals& m = pass.model;
    const auto plus = [&](const at::Tensor& t) { return so_far.defined() ? so_far + t : t; };
    switch (block) {
        case Block::token_embedding: {
            at::Tensor rows = m.embed.index_select(0, pass.ids);
            if (m.config.embed_scale != 1.0) rows = rows * scale_in(rows, m.config.embed_scale);
            return plus(pass.hook(Hook::embed, rows));
        }
        case Block::position_embedding: return plus(pass.hook(Hook::pos_embed, m.pos_embed.index_select(0, position_rows(pass))));
        case Block::patch_embedding: return plus(patch_embedding(pass));
        case Block::relative_positions: return so_far;
        case Block::embedding_projection: return pass.hook(Hook::embed_projected, apply(m.embed_projection, so_far));
        case Block::token_type_embedding:
            return plus(pass.hook(Hook::token_type_embed, m.token_type_embed.index_select(0, pass.type_ids)));
        default: return norm(pass, m.embed_norm, so_far, Hook::embed_norm_scale, Hook::embed_norm_normalized);
    }
}

at::Tensor logits_with(const ModelConfig& c, const Linear& unembed, const at::Tensor& x) {
    const at::Tensor logits = apply(unembed, x);
    return c.final_softcap > 0 ? (logits / c.final_softcap).tanh() * c.final_softcap : logits;
}

at::Tensor output(Pass& pass, Block block, const at::Tensor& x) {
    const Model::Internals& m = pass.model;
    switch (block) {
        case Block::final_norm: return norm(pass, m.final_norm, x, Hook::ln_final_scale, Hook::ln_final_normalized);
        case Block::mlm_head: {
            at::Tensor pre = product(x, m.mlm.weight);
            at::Tensor post = bias_and_activate(pre, m.mlm.bias, m.config.mlm_activation);
            const at::Tensor seen = pass.hook(Hook::mlm_pre, pre);
            if (!seen.is_same(pre)) {
                pre = seen.contiguous();
                post = bias_and_activate(pre, {}, m.config.mlm_activation);
            }
            post = pass.hook(Hook::mlm_post, post);
            return norm(pass, m.mlm_norm, post, Hook::mlm_ln_scale, Hook::mlm_ln_normalized);
        }
        case Block::projection: return project(pass, x);
        default: return pass.hook(Hook::logits, logits_with(m.config, m.unembed, x));
    }
}

}  // namespace headlight::model
