// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/block_list.h"

#include "headlight/base/error.h"
#include "model/internals.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

namespace headlight::model {
namespace {

std::string with_commas(std::int64_t n) {
    std::string digits = std::to_string(n);
    for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string position_text(const ModelConfig& c) {
    switch (c.positions) {
        case Positions::alibi:
            return "ALiBi";
        case Positions::rotary:
            return "rotary positions";
        default:
            return {};
    }
}

std::string attention_text(const ModelConfig& c) {
    std::string text = with_commas(c.n_heads) + (c.n_heads == 1 ? " head of " : " heads of ") + with_commas(c.d_head);
    if (c.n_kv_heads != c.n_heads)
        text += ", " + with_commas(c.n_kv_heads) + (c.n_kv_heads == 1 ? " key/value head" : " key/value heads");
    if (const std::string positions = position_text(c); !positions.empty()) text += ", " + positions;
    if (c.disentangled.any()) {
        text += ", relative positions as terms of the score (";
        text += c.disentangled.content_to_position ? "content to position" : "";
        text += c.disentangled.content_to_position && c.disentangled.position_to_content ? ", " : "";
        text += c.disentangled.position_to_content ? "position to content)" : ")";
    }
    text += c.causal ? ", causal" : ", bidirectional";
    const auto in_layers = [&](auto&& has) {  // "" where all have it
        std::int64_t n = 0;
        for (std::int64_t l = 0; l < c.n_layers; ++l) n += has(l);
        return n == c.n_layers ? std::string() : " in " + with_commas(n) + " of " + with_commas(c.n_layers) + " layers";
    };
    if (const auto widest = std::ranges::max_element(c.windows); widest != c.windows.end() && *widest > 0)
        text += ", window " + with_commas(*widest) + in_layers([&](std::int64_t l) { return window_of(c, l) > 0; });
    if (std::ranges::count(c.layer_rope, LayerRope::none) > 0)
        text += ", no rotation" + in_layers([&](std::int64_t l) { return rope_of(c, l) == LayerRope::none; });
    if (c.qk_norm != QkNorm::none) text += ", normalised queries and keys";
    if (c.score_softcap > 0) text += ", scores capped at " + with_commas(static_cast<std::int64_t>(c.score_softcap));
    return text;
}

std::string activation_text(Activation a) {
    switch (a) {
        case Activation::relu:
            return "ReLU";
        case Activation::silu:
            return "SiLU";
        default:
            return "GELU";
    }
}

std::string mlp_text(const ModelConfig& c) {
    const std::string d = with_commas(c.d_model);
    return d + " → " + with_commas(c.d_mlp) + " → " + d + ", " + activation_text(c.activation) +
           (c.gated_mlp ? ", gated" : "");
}

std::string norm_text(const ModelConfig& c) {
    return c.norm == Norm::rms_norm ? "RMSNorm" : "LayerNorm";
}

std::string product(std::int64_t a, std::int64_t b) {
    return with_commas(a) + " × " + with_commas(b);
}

/// Numbers in the tensors that feed parameters of these names; of a layer: of layer 0.
std::int64_t numbers(const Model& model, std::initializer_list<std::string_view> beginnings) {
    std::int64_t total = 0;
    for (const LoadedParameter& loaded : model.report().loaded)
        for (const std::string_view beginning : beginnings) {
            if (!loaded.parameter.starts_with(beginning)) continue;
            std::int64_t n = 1;
            for (const std::int64_t size : loaded.shape) n *= size;
            total += n;
            break;
        }
    return total;
}

BlockInfo norm_block(const Model& model, std::string id, std::string_view beginning) {
    return {.id = std::move(id),
            .part = "norms",
            .title = norm_text(model.config()),
            .detail = {},
            .parameters = numbers(model, {beginning})};
}

BlockInfo block_of(const Model& model, Block block) {
    const ModelConfig& c = model.config();
    switch (block) {
        case Block::token_embedding:
            return {.id = "token_embedding",
                    .part = "embedding",
                    .title = "Token embedding",
                    .detail = product(c.vocab_size, embedding_width(c)),
                    .parameters = numbers(model, {"embed.W_E"})};
        case Block::position_embedding:
            return {.id = "position_embedding",
                    .part = "positions",
                    .title = "Position embedding",
                    .detail = product(c.context_length, embedding_width(c)),
                    .parameters = numbers(model, {"pos_embed."})};
        case Block::token_type_embedding:
            return {.id = "token_type_embedding",
                    .part = "embedding",
                    .title = "Sentence embedding",
                    .detail = product(c.type_vocab_size, embedding_width(c)),
                    .parameters = numbers(model, {"token_type_embed."})};
        case Block::relative_positions:
            return {.id = "relative_positions",
                    .part = "positions",
                    .title = "Relative positions",
                    .detail = product(2 * c.disentangled.span, c.d_model) + ", read by the scores of every layer",
                    .parameters = numbers(model, {"relative_embed."})};
        case Block::embedding_projection:
            return {.id = "embedding_projection",
                    .part = "embedding",
                    .title = "Projection to the stream",
                    .detail = product(c.d_embed, c.d_model),
                    .parameters = numbers(model, {"embed_projection."})};
        case Block::embedding_norm:
            return norm_block(model, "embedding_norm", "embed_ln.");
        case Block::attention:
            return {.id = "attention",
                    .part = "attention",
                    .title = "Attention",
                    .detail = attention_text(c),
                    .parameters = numbers(model, {"blocks.0.attn."}),
                    .adds = true};
        case Block::mlp:
            return {.id = "mlp",
                    .part = "mlp",
                    .title = "MLP",
                    .detail = mlp_text(c),
                    .parameters = numbers(model, {"blocks.0.mlp."}),
                    .adds = true};
        case Block::final_norm:
            return norm_block(model, "final_norm", "ln_final.");
        case Block::mlm_head:
            return {.id = "mlm_head",
                    .part = "unembedding",
                    .title = "Masked-word head",
                    .detail = product(c.d_model, embedding_width(c)) + ", " + norm_text(c),
                    .parameters = numbers(model, {"mlm_head."})};
        case Block::unembedding:
            return {.id = "unembedding",
                    .part = "unembedding",
                    .title = "Unembedding",
                    .detail = product(embedding_width(c), c.vocab_size) +
                              (c.tied_unembedding ? ", the token embedding transposed (tied)" : ""),
                    .parameters = numbers(model, {"unembed."})};
        default:
            break;
    }
    throw Error("a block without a description");
}

/// The norms of a layer stand in front of what reads the stream, or behind what was added to it.
void add_layer_block(const Model& model, Block block, std::vector<BlockInfo>& out) {
    BlockInfo info = block_of(model, block);
    const bool first = block == Block::attention;
    const ModelConfig& c = model.config();
    const BlockInfo norm = norm_block(model, first ? "ln1" : "ln2", first ? "blocks.0.ln1." : "blocks.0.ln2.");
    if (!info.adds) return out.push_back(std::move(info));
    if (c.post_norm) {
        out.push_back(std::move(info));
        return out.push_back(norm);
    }
    if (!first && c.parallel)
        info.detail = (c.shared_norm ? "beside attention, behind its " + norm.title + ": " : "beside attention; " + norm.title + ", then ") + info.detail;
    else if (c.input_norm)
        info.detail = norm.title + ", then " + info.detail;
    info.parameters += norm.parameters;
    if (c.branch_norm) {
        info.detail += ", then " + norm.title;
        info.parameters += numbers(model, {first ? "blocks.0.ln1_post." : "blocks.0.ln2_post."});
    }
    out.push_back(std::move(info));
}

}  // namespace

BlockList blocks_of(const Model& model) {
    BlockList list;
    const Spec& spec = model.internals().spec;
    for (const Block block : spec.before) list.before.push_back(block_of(model, block));
    for (const Block block : spec.layer) add_layer_block(model, block, list.layer);
    for (const Block block : spec.after) {
        if (block == Block::unembedding && !model.config().has_unembedding) continue;
        list.after.push_back(block_of(model, block));
    }
    list.n_layers = model.config().n_layers;
    return list;
}

}  // namespace headlight::model
