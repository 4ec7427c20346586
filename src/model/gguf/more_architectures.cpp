// SPDX-License-Identifier: GPL-3.0-or-later
// OLMo, Granite, SmolLM3, Command R, StableLM, GPT-NeoX, MPT and Nomic BERT as llama.cpp's converter writes them.
#include "model/gguf/tables.h"

#include <cmath>
#include <string>

namespace headlight::model::gguf {
namespace {

// ---- tensors ----------------------------------------------------------------------------------------------------------

constexpr auto& kPlain = kLlamaNames<Change::none, Change::none, Change::none>;

constexpr std::array kStablelm =
    renamed(kPlain, {{"blk.#.attn_q_norm", "model.layers.#.self_attn.q_layernorm.norms.@", Change::experts},  // a gain a head
                     {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_layernorm.norms.@", Change::experts}});

constexpr std::array kGptNeox = std::to_array<TensorName>({
    {"token_embd", "gpt_neox.embed_in"},
    {"output_norm", "gpt_neox.final_layer_norm"},
    {"output", "embed_out"},
    {"blk.#.attn_norm", "gpt_neox.layers.#.input_layernorm"},
    {"blk.#.attn_qkv", "gpt_neox.layers.#.attention.query_key_value", Change::split_heads},
    {"blk.#.attn_output", "gpt_neox.layers.#.attention.dense"},
    {"blk.#.ffn_norm", "gpt_neox.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_up", "gpt_neox.layers.#.mlp.dense_h_to_4h"},
    {"blk.#.ffn_down", "gpt_neox.layers.#.mlp.dense_4h_to_h"},
});

constexpr std::array kMpt = std::to_array<TensorName>({
    {"token_embd", "transformer.wte"},
    {"output_norm", "transformer.norm_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.blocks.#.norm_1"},
    {"blk.#.attn_qkv", "transformer.blocks.#.attn.Wqkv"},
    {"blk.#.attn_output", "transformer.blocks.#.attn.out_proj"},
    {"blk.#.ffn_norm", "transformer.blocks.#.norm_2"},
    {"blk.#.ffn_up", "transformer.blocks.#.ffn.up_proj"},
    {"blk.#.ffn_down", "transformer.blocks.#.ffn.down_proj"},
});

constexpr std::array kNomicBert = std::to_array<TensorName>({
    {"token_embd", "nomic_bert.embeddings.word_embeddings"},
    {"token_types", "nomic_bert.embeddings.token_type_embeddings"},
    {"token_embd_norm", "nomic_bert.emb_ln"},
    {"blk.#.attn_qkv", "nomic_bert.encoder.layers.#.attn.Wqkv"},
    {"blk.#.attn_output", "nomic_bert.encoder.layers.#.attn.out_proj"},
    {"blk.#.attn_output_norm", "nomic_bert.encoder.layers.#.norm1"},
    {"blk.#.ffn_up", "nomic_bert.encoder.layers.#.mlp.fc11"},
    {"blk.#.ffn_gate", "nomic_bert.encoder.layers.#.mlp.fc12"},
    {"blk.#.ffn_down", "nomic_bert.encoder.layers.#.mlp.fc2"},
    {"blk.#.layer_output_norm", "nomic_bert.encoder.layers.#.norm2"},
});

// ---- configurations ---------------------------------------------------------------------------------------------------

json olmo(const Meta& m) {
    json c = llama_like(m, "OlmoForCausalLM", "olmo");
    if (m.has("attention.clamp_kqv")) c["clip_qkv"] = m.number("attention.clamp_kqv");
    return c;
}

}  // namespace

void read_biases(const Meta& m, json& c) {
    c["attention_bias"] = m.has_tensor("blk.0.attn_q.bias");
    c["mlp_bias"] = m.has_tensor("blk.0.ffn_up.bias");
}

void read_granite_multipliers(const Meta& m, json& c) {
    c["attention_multiplier"] = m.number("attention.scale", 1 / std::sqrt(static_cast<double>(head_width_of(m))));
    c["embedding_multiplier"] = m.number("embedding_scale", 1.0);
    c["residual_multiplier"] = m.number("residual_scale", 1.0);
    c["logits_scaling"] = m.number("logit_scale", 1.0);
}

namespace {

json granite(const Meta& m) {
    json c = llama_like(m, "GraniteForCausalLM", "granite");
    read_biases(m, c);
    read_granite_multipliers(m, c);
    return c;
}

/// Every fourth layer does not rotate: not in the metadata, and so in llama.cpp.
json smollm3(const Meta& m) {
    json c = llama_like(m, "SmolLM3ForCausalLM", "smollm3");
    read_biases(m, c);
    return c;
}

json command_r(const Meta& m) {
    json c = llama_like(m, "CohereForCausalLM", "cohere");
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["logit_scale"] = m.number("logit_scale", 0.0625);
    c["attention_bias"] = m.has_tensor("blk.0.attn_q.bias");
    c["use_qk_norm"] = m.has_tensor("blk.0.attn_q_norm.weight");
    return c;
}

json stablelm(const Meta& m) {
    json c = llama_like(m, "StableLmForCausalLM", "stablelm");
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["partial_rotary_factor"] = rotated_share(m);
    c["use_qkv_bias"] = m.has_tensor("blk.0.attn_q.bias");
    c["qk_layernorm"] = m.has_tensor("blk.0.attn_q_norm.weight");
    c["use_parallel_residual"] = !m.has_tensor("blk.0.ffn_norm.weight");
    return c;
}

json gpt_neox(const Meta& m) {
    json c = llama_like(m, "GPTNeoXForCausalLM", "gpt_neox");
    for (const char* field : {"head_dim", "num_key_value_heads"}) c.erase(field);
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["hidden_act"] = "gelu";
    c["partial_rotary_factor"] = rotated_share(m);
    c["attention_bias"] = m.has_tensor("blk.0.attn_qkv.bias");
    c["use_parallel_residual"] = m.flag("use_parallel_residual", true);
    return c;
}

json mpt(const Meta& m) {
    const std::int64_t heads = m.integer("attention.head_count"), kv_heads = m.integer("attention.head_count_kv", heads);
    if (kv_heads != heads)
        m.wrong("attention.head_count_kv", "as many as attention.head_count, " + std::to_string(heads), std::to_string(kv_heads));
    const double alibi = m.number("attention.max_alibi_bias", 8.0);
    if (alibi == 0) m.wrong("attention.max_alibi_bias", "more than 0: MPT with learned positions is not supported", "0");
    json c = base("MptForCausalLM", "mpt");
    c["n_layers"] = m.integer("block_count");
    c["d_model"] = m.integer("embedding_length");
    c["n_heads"] = heads;
    c["vocab_size"] = m.tensor_size("token_embd.weight", 0);
    c["max_seq_len"] = m.integer("context_length");
    c["layer_norm_epsilon"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["no_bias"] = !m.has_tensor("blk.0.attn_qkv.bias");
    c["tie_word_embeddings"] = !m.has_tensor("output.weight");
    c["attn_config"] = {{"alibi", true}, {"alibi_bias_max", alibi}};
    if (m.has("attention.clamp_kqv")) c["attn_config"]["clip_qkv"] = m.number("attention.clamp_kqv");
    return c;
}

json nomic_bert(const Meta& m) {
    json c = bert_like(m, "NomicBertModel", "nomic_bert");
    c["max_position_embeddings"] = m.integer("context_length");
    c["hidden_act"] = "silu";
    c["rope_theta"] = m.number("rope.freq_base", 1000.0);
    return c;
}

}  // namespace

std::span<const GgufArchitecture> more_architectures() {
    static const std::array kAll = std::to_array<GgufArchitecture>({
        {"olmo", kLlama, olmo},
        {"granite", kLlama, granite},
        {"smollm3", kLlama, smollm3},
        {"command-r", kPlain, command_r},
        {"stablelm", kStablelm, stablelm},
        {"gptneox", kGptNeox, gpt_neox},
        {"mpt", kMpt, mpt},
        {"nomic-bert", kNomicBert, nomic_bert},
    });
    return kAll;
}

}  // namespace headlight::model::gguf
