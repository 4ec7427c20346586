// SPDX-License-Identifier: GPL-3.0-or-later
// What several architectures of GGUF files share: Llama's tensor names and fields.
#pragma once

#include "model/gguf/architecture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace headlight::model::gguf {

using nlohmann::json;
using Meta = GgufMetadata;

// Llama and those that took over its names. `Turned` is how rows of q and k are rearranged.
template <Change Q, Change K, Change Norm>
inline constexpr std::array kLlamaNames = std::to_array<TensorName>({
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm", Norm},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm", Norm},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj", Q},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj", K},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm", Norm},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm", Norm},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm", Norm},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    {"blk.#.ffn_gate_inp", "model.layers.#.block_sparse_moe.gate"},  // Mixtral
    {"blk.#.ffn_gate_up_exps", "model.layers.#.block_sparse_moe.experts.gate_up_proj", Change::whole_name},
    {"blk.#.ffn_gate_exps", "model.layers.#.block_sparse_moe.experts.@.w1", Change::experts},
    {"blk.#.ffn_up_exps", "model.layers.#.block_sparse_moe.experts.@.w3", Change::experts},
    {"blk.#.ffn_down_exps", "model.layers.#.block_sparse_moe.experts.@.w2", Change::experts},
});
inline constexpr auto& kLlama = kLlamaNames<Change::rotate_q, Change::rotate_k, Change::none>;

/// The same table with other rows for some of its tensors.
template <std::size_t N, std::size_t Changed>
constexpr std::array<TensorName, N> renamed(std::array<TensorName, N> names, const TensorName (&rows)[Changed]) {
    for (const TensorName& row : rows)
        for (TensorName& name : names)
            if (name.gguf == row.gguf) name = row;
    return names;
}

/// The table and further rows.
template <std::size_t N, std::size_t More>
constexpr std::array<TensorName, N + More> with_rows(const std::array<TensorName, N>& names, const TensorName (&rows)[More]) {
    std::array<TensorName, N + More> all;
    std::ranges::copy(rows, std::ranges::copy(names, all.begin()).out);
    return all;
}

/// A config.json with nothing but the class and the model type.
json base(std::string_view architecture, std::string_view type);
/// Fields shared by all descendants of Llama.
json llama_like(const Meta&, std::string_view architecture, std::string_view type);
/// Fields shared by BERT and its descendants, without the number of positions.
json bert_like(const Meta&, std::string_view architecture, std::string_view type);
std::int64_t head_width_of(const Meta&);
/// The rotated part of a head.
double rotated_share(const Meta&);

/// attention_bias and mlp_bias, by the tensors of the first layer.
void read_biases(const Meta&, json&);
void read_granite_multipliers(const Meta&, json&);

/// The architectures of more_architectures.cpp and of later_architectures.cpp.
std::span<const GgufArchitecture> more_architectures();
std::span<const GgufArchitecture> later_architectures();

}  // namespace headlight::model::gguf
