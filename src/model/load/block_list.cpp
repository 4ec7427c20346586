// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/block_list.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "model/internals.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace headlight::model {
namespace {

std::string position_text(const ModelConfig& c) {
    switch (c.positions) {
        case Positions::alibi: return "ALiBi";
        case Positions::rotary: return reads_pictures(c) ? "rotary positions by row and column" : "rotary positions";
        case Positions::relative:
            return "bias by distance in " + with_commas(c.relative_buckets) + " buckets" +
                   (c.relative_by_layer ? ", each layer's own" : "");
        default: return {};
    }
}

const char* rows_title(const ModelConfig& c) {
    switch (c.class_head.reads) {
        case ClassRow::patches: return "Mean of the patches";
        case ClassRow::class_and_patches: return "[CLS] and the mean of the patches";
        default: return "Mean of all tokens";
    }
}

std::string attention_text(const ModelConfig& c) {
    std::string text = with_commas(c.n_heads) + (c.n_heads == 1 ? " head of " : " heads of ") + with_commas(c.d_head);
    if (c.latent.any()) {
        text += " (" + with_commas(c.latent.content) + " of content, " + with_commas(c.rope_dims) + " rotary)";
        if (value_width(c) != c.d_head) text += ", values of " + with_commas(value_width(c));
        text += ", made of a latent of " + with_commas(c.latent.rank);
        if (c.latent.query_rank > 0) text += ", queries of one of " + with_commas(c.latent.query_rank);
    }
    if (c.n_kv_heads != c.n_heads)
        text += ", " + with_commas(c.n_kv_heads) + (c.n_kv_heads == 1 ? " key/value head" : " key/value heads");
    if (const std::string positions = position_text(c); !positions.empty()) text += ", " + positions;
    if (has_relative_bias(c) && c.positions != Positions::relative)
        text += ", bias by distance in " + with_commas(c.relative_buckets) + " buckets";
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
    if (const auto chunk = std::ranges::min_element(c.windows); chunk != c.windows.end() && *chunk < 0)
        text += ", chunks of " + with_commas(-*chunk) + in_layers([&](std::int64_t l) { return window_of(c, l) < 0; });
    if (std::ranges::count(c.layer_rope, LayerRope::none) > 0)
        text += ", no rotation" + in_layers([&](std::int64_t l) { return rope_of(c, l) == LayerRope::none; });
    if (c.attention_sinks) text += ", a sink in each head";
    if (c.qk_norm != QkNorm::none)
        text += std::string(", normalised queries and keys") + (c.norm_after_rotation ? " behind the rotation" : "") +
                in_layers([&](std::int64_t l) { return has_qk_norm(c, l); });
    if (c.query_growth.any())
        text += ", queries that grow every " + with_commas(c.query_growth.context) + " tokens" +
                (c.query_growth.unrotated ? " where they do not rotate" : "");
    if (c.score_softcap > 0) text += ", scores capped at " + with_commas(static_cast<std::int64_t>(c.score_softcap));
    return text;
}

std::string state_space_text(const ModelConfig& c) {
    const StateSpace& s = c.state_space;
    return with_commas(c.n_heads) + (c.n_heads == 1 ? " head with a state of " : " heads with states of ") +
           with_commas(value_width(c)) + " × " + with_commas(c.d_head) + ", keys and queries of " + with_commas(s.groups) +
           (s.groups == 1 ? " group" : " groups") + ", a convolution over " + with_commas(s.conv_width) +
           " tokens before it, a gate and a norm behind it";
}

std::string activation_text(Activation a) {
    switch (a) {
        case Activation::relu: return "ReLU";
        case Activation::silu: return "SiLU";
        case Activation::quick_gelu: return "quick GELU";
        case Activation::tanh: return "tanh";
        case Activation::relu_squared: return "squared ReLU";
        case Activation::xielu: return "xIELU";
        default: return "GELU";
    }
}

std::string mlp_text(const ModelConfig& c) {
    const std::string d = with_commas(c.d_model);
    if (const Experts& e = c.experts; e.count > 0) {
        std::string text = with_commas(e.count) + " experts " + d + " → " + with_commas(e.width) + " → " + d + ", " +
                           with_commas(e.chosen) + " for each token";
        if (e.groups > 0) text += " from " + with_commas(e.groups_chosen) + " of " + with_commas(e.groups) + " groups";
        if (e.weighs_input) text += ", its input weighted";
        if (e.shared_width > 0) text += ", and a shared one of " + with_commas(e.shared_width);
        text += ", " + activation_text(c.activation) + (c.gated_mlp ? ", gated" : "");
        if (const auto with = std::ranges::count(e.layers, true); with > 0)
            text += ", in " + with_commas(with) + " of " + with_commas(c.n_layers) + " layers; elsewhere one of " +
                    with_commas(e.dense_width);
        return text;
    }
    return d + " → " + with_commas(c.d_mlp) + " → " + d + ", " + activation_text(c.activation) + (c.gated_mlp ? ", gated" : "");
}

std::string convolution_text(const ModelConfig& c) {
    const Convolution& conv = c.convolution;
    std::string text =
        "beside layer 0 alone, from its input: " + with_commas(conv.width) + (conv.width == 1 ? " token, " : " tokens, ");
    if (conv.groups > 1) text += with_commas(conv.groups) + " groups, ";
    return text + activation_text(conv.activation);
}

std::string norm_text(const ModelConfig& c) { return c.norm == Norm::rms_norm ? "RMSNorm" : "LayerNorm"; }

std::string size_text(std::int64_t a, std::int64_t b) { return with_commas(a) + " × " + with_commas(b); }

/// The layer whose MLP is described: the first with experts.
std::int64_t first_with_experts(const ModelConfig& c) {
    std::int64_t l = 0;
    while (l + 1 < c.n_layers && c.experts.count > 0 && !has_experts(c, l)) ++l;
    return l;
}

/// Number of weights in the tensors of parameters with these prefixes; for a layer, of layer 0.
std::int64_t numbers(const Model& model, std::initializer_list<std::string> beginnings) {
    std::int64_t total = 0;
    for (const LoadedParameter& loaded : model.report().loaded)
        for (const std::string& beginning : beginnings) {
            if (!loaded.parameter.starts_with(beginning)) continue;
            std::int64_t n = 1;
            for (const std::int64_t size : loaded.shape) n *= size;
            total += n;
            break;
        }
    return total;
}

BlockInfo norm_block(const Model& model, std::string id, const std::string& beginning) {
    return {.id = std::move(id),
            .part = "norms",
            .title = norm_text(model.config()),
            .detail = {},
            .parameters = numbers(model, {beginning})};
}

std::string class_tokens_text(const ModelConfig& c) {
    if (c.registers > 0) return ", [CLS] and " + with_commas(c.registers) + (c.registers == 1 ? " register" : " registers");
    return c.class_tokens == 0 ? "" : c.class_tokens == 2 ? ", [CLS] and [DIST]" : ", [CLS]";
}

BlockInfo block_of(const Model& model, Block block) {
    const ModelConfig& c = model.config();
    const auto info = [&](const char* id, const char* part, const char* title, std::string detail,
                          std::initializer_list<std::string> parameters) {
        return BlockInfo{
            .id = id, .part = part, .title = title, .detail = std::move(detail), .parameters = numbers(model, parameters)};
    };
    const auto adding = [](BlockInfo of_block, std::int64_t layers = 0) {
        of_block.layers = layers;
        of_block.adds = true;
        return of_block;
    };
    switch (block) {
        case Block::token_embedding:
            return info("token_embedding", "embedding", "Token embedding", size_text(c.vocab_size, embedding_width(c)),
                        {"embed.W_E"});
        case Block::position_embedding:
            return info("position_embedding", "positions", "Position embedding",
                        size_text(c.context_length - c.registers, embedding_width(c)) +
                            (c.table_side > 0 ? ", interpolated from " + size_text(c.table_side, c.table_side) + " patches" : ""),
                        {"pos_embed."});
        case Block::token_type_embedding:
            return info("token_type_embedding", "embedding", "Sentence embedding",
                        size_text(c.type_vocab_size, embedding_width(c)), {"token_type_embed."});
        case Block::patch_embedding:
            return info("patch_embedding", "embedding", "Patch embedding",
                        size_text(patch_rows(c), patch_columns(c)) + " patches of " + size_text(c.patch_size, c.patch_size) +
                            " pixels, 3 colours" + class_tokens_text(c),
                        {"patch_embed.", "class_embed", "distill_embed", "register_embed"});
        case Block::relative_positions:
            return info("relative_positions", "positions", "Relative positions",
                        size_text(2 * c.disentangled.span, c.d_model) + ", read by the scores of every layer",
                        {"relative_embed."});
        case Block::embedding_projection:
            return info("embedding_projection", "embedding", "Projection to the stream", size_text(c.d_embed, c.d_model),
                        {"embed_projection."});
        case Block::embedding_norm: return norm_block(model, "embedding_norm", "embed_ln.");
        case Block::attention:
            return adding(has_implied_map(c, 0)
                              ? info("attention", "attention", "State space", state_space_text(c), {"blocks.0.attn."})
                              : info("attention", "attention", "Attention", attention_text(c), {"blocks.0.attn."}));
        case Block::cross_attention: {
            const bool alone = c.stack == Stack::cross;
            return adding(info("cross_attention", alone ? "attention" : "cross_attention", "Cross attention",
                               with_commas(c.n_heads) + (c.n_heads == 1 ? " head of " : " heads of ") + with_commas(c.d_head) +
                                   ", from the target to the source",
                               {alone ? "blocks.0.attn." : "blocks.0.cross_attn."}));
        }
        case Block::mlp:
            return adding(info("mlp", "mlp", c.experts.count > 0 ? "Mixture of experts" : "MLP", mlp_text(c),
                               {"blocks." + std::to_string(first_with_experts(c)) + ".mlp."}));
        case Block::convolution:
            return adding(info("convolution", "convolution", "Convolution", convolution_text(c), {"blocks.0.conv."}), 1);
        case Block::final_norm: return norm_block(model, "final_norm", "ln_final.");
        case Block::mlm_head:
            if (c.class_head.any())
                return info("class_head", "unembedding", "Dense layer of the classes",
                            size_text(c.d_model, c.d_model) + (c.class_head.norm ? ", " + norm_text(c) : ""), {"class_head."});
            return info("mlm_head", "unembedding", "Masked-word head",
                        size_text(c.d_model, embedding_width(c)) + ", " + norm_text(c), {"mlm_head."});
        case Block::mean_rows: return info("mean_rows", "unembedding", rows_title(c), "", {});
        case Block::projection:
            return info("projection", "unembedding", "Projection", size_text(c.d_model, c.d_projection), {"projection."});
        case Block::unembedding:
            return info("unembedding", "unembedding", has_classes(c) ? "Classifier" : "Unembedding",
                        size_text(c.class_head.any() ? c.d_model * head_parts(c) : embedding_width(c), logit_count(c)) +
                            (c.tied_unembedding ? ", the token embedding transposed (tied)" : ""),
                        {"unembed."});
        default: break;
    }
    throw Error("A block has no description");
}

/// A layer's norms come before the blocks that read the stream (pre-norm) or after the sums (post-norm).
void add_layer_block(const Model& model, Block block, std::vector<BlockInfo>& out) {
    BlockInfo info = block_of(model, block);
    const bool first = block == Block::attention;
    const ModelConfig& c = model.config();
    const bool cross = block == Block::cross_attention && c.stack == Stack::decoder;
    const std::string norm_name = block == Block::convolution                ? "ln_conv"
                                  : cross                                    ? "ln_cross"
                                  : first || block == Block::cross_attention ? "ln1"
                                                                             : "ln2";
    BlockInfo norm = norm_block(model, norm_name, "blocks.0." + norm_name + ".");
    norm.layers = info.layers;
    if (!info.adds) return out.push_back(std::move(info));
    if (c.post_norm) {
        out.push_back(std::move(info));
        return out.push_back(norm);
    }
    if (!first && c.parallel)
        info.detail =
            (c.shared_norm ? "beside attention, after its " + norm.title + ": " : "beside attention; " + norm.title + ", then ") +
            info.detail;
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
