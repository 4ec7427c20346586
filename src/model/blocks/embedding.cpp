// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/working_for.h"
#include "headlight/model/same_products.h"
#include "model/blocks/pack.h"
#include "model/blocks/text_stack.h"
#include "model/run/steps.h"

#include <algorithm>
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
    return (counts.cumsum(0) + pass.past()) * counts + (c.position_offset - 1);
}

/// The factor rounded to the computation's type, as in the reference.
at::Scalar scale_in(const at::Tensor& x, double scale) {
    return x.scalar_type() == at::kBFloat16
               ? at::Scalar(static_cast<double>(static_cast<float>(at::BFloat16(static_cast<float>(scale)))))
               : at::Scalar(scale);
}

at::Tensor capped(const ModelConfig& c, const at::Tensor& logits) {
    return c.final_softcap > 0 ? (logits / c.final_softcap).tanh() * c.final_softcap : logits;
}

/// Every row of a text or picture becomes what the head reads of all of them: ClassRow. Single states, which are of no text, are
/// read as if every row were the same.
at::Tensor mean_rows(const Pass& pass, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    const bool two = head_parts(c) == 2;
    const std::int64_t first = c.class_head.reads == ClassRow::mean ? 0 : c.class_tokens;
    const auto mean = [&](const at::Tensor& rows) {
        at::Tensor one = rows.narrow(-2, first, rows.size(-2) - first).mean(-2, true);
        if (two) one = at::cat({rows.narrow(-2, 0, 1), one}, -1);
        std::vector<std::int64_t> shape = rows.sizes().vec();
        shape.back() = one.size(-1);
        // Contiguous: rows that are one in memory are no matrix to a product.
        return one.expand(shape).contiguous();
    };
    if (pass.stack) return mean(x.view({-1, pass.stack->tokens, x.size(-1)})).reshape({x.size(0), -1});
    if (!pass.pack) return pass.ids.defined() ? mean(x) : two ? at::cat({x, x}, -1) : x;
    std::vector<at::Tensor> texts;
    for (std::size_t i = 0; i < pass.pack->texts.size(); ++i) texts.push_back(mean(pass.pack->of_text(i, x)));
    return at::cat(texts);
}

/// Rows of the token that stands for a hidden one are 0; the others grow with its share of the text (ESM).
at::Tensor without_dropped(const Pass& pass, const at::Tensor& rows) {
    const ModelConfig& c = pass.config();
    const auto of_text = [&](const at::Tensor& ids, const at::Tensor& own) {
        const at::Tensor hidden = ids.eq(c.dropped_token);
        const at::Tensor share = hidden.sum().to(own.scalar_type()) / static_cast<double>(ids.size(0));
        return own.masked_fill(hidden.unsqueeze(1), 0) * c.kept_share / (1 - share);
    };
    if (!pass.pack) return of_text(pass.ids, rows);
    std::vector<at::Tensor> texts;
    for (std::size_t i = 0; i < pass.pack->texts.size(); ++i)
        texts.push_back(of_text(pass.pack->texts[i].ids, pass.pack->of_text(i, rows)));
    return at::cat(texts);
}

}  // namespace

at::Tensor embedding(Pass& pass, Block block, const at::Tensor& so_far) {
    const Model::Internals& m = pass.model;
    const auto plus = [&](const at::Tensor& t) { return so_far.defined() ? so_far + t : t; };
    switch (block) {
        case Block::token_embedding: {
            at::Tensor rows = embedding_rows(m, pass.ids);
            if (m.config.embed_scale != 1.0) rows = rows * scale_in(rows, m.config.embed_scale);
            if (m.config.dropped_token >= 0) rows = without_dropped(pass, rows);
            return plus(pass.hook(Hook::embed, rows));
        }
        case Block::position_embedding: return plus(pass.hook(Hook::pos_embed, m.pos_embed.index_select(0, position_rows(pass))));
        case Block::patch_embedding: return plus(patch_embedding(pass));
        case Block::relative_positions: return so_far;
        case Block::embedding_projection: return pass.hook(Hook::embed_projected, apply(pass, m.embed_projection, so_far));
        case Block::token_type_embedding:
            return plus(pass.hook(Hook::token_type_embed, m.token_type_embed.index_select(0, pass.type_ids)));
        default: return norm(pass, m.embed_norm, so_far, Hook::embed_norm_scale, Hook::embed_norm_normalized);
    }
}

at::Tensor logits_with(const ModelConfig& c, const Linear& unembed, const at::Tensor& x) { return capped(c, apply(unembed, x)); }

at::Tensor logits(const Model::Internals& m, const at::Tensor& x) {
    const std::int64_t rows = x.size(0), vocabulary = m.unembed.weight.size(1);
    const bool as_used = m.unembed.weight.is_meta();
    if (!as_used && (rows <= kLogitRows || records_gradient(x) || SameProducts::of_rows()))
        return logits_with(m.config, m.unembed, x);
    // A W_U that is converted as it is used comes a piece at a time: whole strips of a wide product, so that the numbers are
    // those of one.
    const std::int64_t piece = as_used ? 16 * 768 : vocabulary;
    at::Tensor out = at::empty({rows, vocabulary}, x.options());
    for (std::int64_t first = 0; first < vocabulary; first += piece) {
        const std::int64_t count = std::min(piece, vocabulary - first);
        const Linear part{unembedding_columns(m, first, count),
                          m.unembed.bias.defined() ? m.unembed.bias.narrow(0, first, count) : at::Tensor()};
        for (std::int64_t row = 0; row < rows; row += kLogitRows) {
            WorkingFor::token().throw_if_cancelled();
            const std::int64_t some = std::min(kLogitRows, rows - row);
            out.narrow(0, row, some).narrow(1, first, count).copy_(apply(part, x.narrow(0, row, some)));
        }
    }
    for (std::int64_t row = 0; m.config.final_softcap > 0 && row < rows; row += kLogitRows) {
        at::Tensor some = out.narrow(0, row, std::min(kLogitRows, rows - row));
        some.copy_(capped(m.config, some));
    }
    return out;
}

at::Tensor output(Pass& pass, Block block, const at::Tensor& x) {
    const Model::Internals& m = pass.model;
    switch (block) {
        case Block::final_norm: return norm(pass, m.final_norm, x, Hook::ln_final_scale, Hook::ln_final_normalized);
        case Block::mlm_head: {
            const Activation activation = m.config.mlm_head ? m.config.mlm_activation : m.config.class_head.activation;
            at::Tensor pre = product(pass, x, m.mlm.weight);
            at::Tensor post = bias_and_activate(pre, m.mlm.bias, activation);
            const at::Tensor seen = pass.hook(Hook::mlm_pre, pre);
            if (!seen.is_same(pre)) {
                pre = seen.contiguous();
                post = bias_and_activate(pre, {}, activation);
            }
            post = pass.hook(Hook::mlm_post, post);
            if (!m.mlm_norm.gain.defined()) return post;
            return norm(pass, m.mlm_norm, post, Hook::mlm_ln_scale, Hook::mlm_ln_normalized);
        }
        case Block::mean_rows: return mean_rows(pass, x);
        case Block::projection: return project(pass, x);
        default: return pass.hook(Hook::logits, logits(m, x));
    }
}

}  // namespace headlight::model
