// SPDX-License-Identifier: GPL-3.0-or-later
// Decoders of 2024 and later as llama.cpp's converter writes them.
#include "model/gguf/tables.h"

#include <algorithm>
#include <string>
#include <vector>

namespace headlight::model::gguf {
namespace {

// ---- tensors ----------------------------------------------------------------------------------------------------------

/// Llama's names with experts as most families call them, and with norms of what a layer writes.
template <Change Q, Change K, Change Norm = Change::none>
constexpr std::array kLater = with_rows(
    renamed(kLlamaNames<Q, K, Norm>, {{"blk.#.ffn_gate_inp", "model.layers.#.mlp.gate"},
                                      {"blk.#.ffn_gate_up_exps", "model.layers.#.mlp.experts.gate_up_proj", Change::whole_name},
                                      {"blk.#.ffn_gate_exps", "model.layers.#.mlp.experts.@.gate_proj", Change::experts},
                                      {"blk.#.ffn_up_exps", "model.layers.#.mlp.experts.@.up_proj", Change::experts},
                                      {"blk.#.ffn_down_exps", "model.layers.#.mlp.experts.@.down_proj", Change::experts}}),
    {{"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"},
     {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm"},
     {"blk.#.ffn_gate_inp_shexp", "model.layers.#.mlp.shared_expert_gate"},
     {"blk.#.ffn_gate_shexp", "model.layers.#.mlp.shared_expert.gate_proj"},
     {"blk.#.ffn_up_shexp", "model.layers.#.mlp.shared_expert.up_proj"},
     {"blk.#.ffn_down_shexp", "model.layers.#.mlp.shared_expert.down_proj"}});
constexpr auto& kAsStored = kLater<Change::none, Change::none>;
constexpr auto& kPaired = kLater<Change::rotate_q, Change::rotate_k>;

constexpr std::array kGraniteMoe =
    renamed(kPaired, {{"blk.#.ffn_gate_inp", "model.layers.#.block_sparse_moe.router.layer"},
                      {"blk.#.ffn_gate_exps", "model.layers.#.block_sparse_moe.experts.@.gate_proj", Change::experts},
                      {"blk.#.ffn_up_exps", "model.layers.#.block_sparse_moe.experts.@.up_proj", Change::experts},
                      {"blk.#.ffn_down_exps", "model.layers.#.block_sparse_moe.experts.@.down_proj", Change::experts}});

constexpr std::array kStarcoder2 = renamed(kAsStored, {{"blk.#.ffn_up", "model.layers.#.mlp.c_fc"},  // without a gate
                                                       {"blk.#.ffn_down", "model.layers.#.mlp.c_proj"}});

/// ffn_up is gate and linear branch.
constexpr std::array kGlm = renamed(kAsStored, {{"blk.#.ffn_up", "model.layers.#.mlp.gate_up_proj"},
                                                {"blk.#.post_attention_norm", "model.layers.#.post_self_attn_layernorm"},
                                                {"blk.#.post_ffw_norm", "model.layers.#.post_mlp_layernorm"}});

constexpr auto& kNemotron = kLater<Change::none, Change::none, Change::plus_one>;

constexpr std::array kHunyuan = renamed(kAsStored, {{"blk.#.attn_q_norm", "model.layers.#.self_attn.query_layernorm"},
                                                    {"blk.#.attn_k_norm", "model.layers.#.self_attn.key_layernorm"}});

// ---- configurations ---------------------------------------------------------------------------------------------------

bool biased(const Meta& m, const char* tensor) { return m.has_tensor(std::string("blk.0.") + tensor + ".bias"); }

void read_experts(const Meta& m, json& c) {
    c["num_experts"] = m.integer("expert_count");
    c["num_experts_per_tok"] = m.integer("expert_used_count");
    if (m.has("expert_feed_forward_length")) c["moe_intermediate_size"] = m.integer("expert_feed_forward_length");
}

/// The window and which layers have it: listed, or all but every so many-th.
void read_windows(const Meta& m, json& c, std::int64_t every) {
    const std::int64_t layers = m.integer("block_count"), window = m.integer("attention.sliding_window", 0);
    std::vector<bool> has = m.flags("attention.sliding_window_pattern");
    c["sliding_window"] = window > 0 ? json(window) : json();
    if (has.empty())
        for (std::int64_t l = 0; l < layers; ++l) has.push_back(window > 0 && (l + 1) % every != 0);
    if (static_cast<std::int64_t>(has.size()) != layers)
        m.wrong("attention.sliding_window_pattern", "as many as block_count, " + std::to_string(layers),
                std::to_string(has.size()));
    c["layer_types"] = json::array();
    for (const bool local : has) c["layer_types"].push_back(local ? "sliding_attention" : "full_attention");
}

json qwen2_moe(const Meta& m) {
    json c = llama_like(m, "Qwen2MoeForCausalLM", "qwen2_moe");
    read_experts(m, c);
    c["shared_expert_intermediate_size"] = m.integer("expert_shared_feed_forward_length");
    c["qkv_bias"] = biased(m, "attn_q");
    c["norm_topk_prob"] = false;  // as llama.cpp computes it, whatever a file says
    c["layer_types"] = std::vector<std::string>(static_cast<std::size_t>(m.integer("block_count")), "full_attention");
    return c;
}

json qwen3_moe(const Meta& m) {
    json c = llama_like(m, "Qwen3MoeForCausalLM", "qwen3_moe");
    read_experts(m, c);
    c["norm_topk_prob"] = true;  // the same
    c["attention_bias"] = biased(m, "attn_q");
    c["mlp_only_layers"] = json::array();
    for (std::int64_t l = 0; l < m.integer("block_count"); ++l)
        if (!m.has_tensor("blk." + std::to_string(l) + ".ffn_gate_inp.weight")) c["mlp_only_layers"].push_back(l);
    return c;
}

json olmoe(const Meta& m) {
    json c = llama_like(m, "OlmoeForCausalLM", "olmoe");
    read_experts(m, c);
    if (m.has("attention.clamp_kqv")) c["clip_qkv"] = m.number("attention.clamp_kqv");
    return c;
}

json granite_moe(const Meta& m) {
    json c = llama_like(m, "GraniteMoeForCausalLM", "granitemoe");
    if (m.integer("expert_shared_feed_forward_length", 0) > 0)
        m.wrong("expert_shared_feed_forward_length", "0: Granite with shared experts is not supported",
                std::to_string(m.integer("expert_shared_feed_forward_length")));
    read_experts(m, c);
    c["num_local_experts"] = c["num_experts"];
    c["attention_bias"] = biased(m, "attn_q");
    read_granite_multipliers(m, c);
    return c;
}

json starcoder2(const Meta& m) {
    json c = llama_like(m, "Starcoder2ForCausalLM", "starcoder2");
    c["norm_epsilon"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["hidden_act"] = "gelu_pytorch_tanh";
    c["use_bias"] = biased(m, "attn_q");
    if (m.has("attention.sliding_window")) c["sliding_window"] = m.integer("attention.sliding_window");
    return c;
}

json glm_like(const Meta& m, const char* architecture, const char* type) {
    json c = llama_like(m, architecture, type);
    c["partial_rotary_factor"] = rotated_share(m);
    c["attention_bias"] = biased(m, "attn_q");
    return c;
}
json glm(const Meta& m) { return glm_like(m, "GlmForCausalLM", "glm"); }
json glm4(const Meta& m) { return glm_like(m, "Glm4ForCausalLM", "glm4"); }

json cohere2(const Meta& m) {
    json c = llama_like(m, "Cohere2ForCausalLM", "cohere2");
    c["layer_norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["logit_scale"] = m.number("logit_scale", 0.0625);
    c["attention_bias"] = biased(m, "attn_q");
    read_windows(m, c, 4);
    return c;
}

json ernie4_5(const Meta& m) {
    json c = llama_like(m, "Ernie4_5ForCausalLM", "ernie4_5");
    c["use_bias"] = biased(m, "attn_q");
    return c;
}

json exaone4(const Meta& m) {
    json c = llama_like(m, "Exaone4ForCausalLM", "exaone4");
    read_windows(m, c, 4);
    return c;
}

json seed_oss(const Meta& m) {
    json c = llama_like(m, "SeedOssForCausalLM", "seed_oss");
    read_biases(m, c);
    c["attention_out_bias"] = biased(m, "attn_output");
    return c;
}

json nemotron(const Meta& m) {
    json c = llama_like(m, "NemotronForCausalLM", "nemotron");
    c["hidden_act"] = "relu2";
    c["norm_eps"] = m.number("attention.layer_norm_epsilon", 1e-5);
    c["partial_rotary_factor"] = rotated_share(m);
    read_biases(m, c);
    return c;
}

json arcee(const Meta& m) {
    json c = llama_like(m, "ArceeForCausalLM", "arcee");
    c["hidden_act"] = "relu2";
    read_biases(m, c);
    return c;
}

/// A stretched base is in rope.freq_base.
json hunyuan(const Meta& m) {
    json c = llama_like(m, "HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense");
    c["attention_bias"] = biased(m, "attn_q");
    return c;
}

/// Ministral 3, and the language models of Mistral Small 3, whose queries do not grow.
json mistral3(const Meta& m) {
    if (m.integer("expert_count", 0) > 0) m.wrong("expert_count", "0: Mistral 3 with experts is not supported", "experts");
    const double beta = m.number("attention.temperature_scale", 0.0);
    if (beta == 0) {
        json c = llama_like(m, "MistralForCausalLM", "mistral");
        c["sliding_window"] = nullptr;
        return c;
    }
    json c = llama_like(m, "Ministral3ForCausalLM", "ministral3");
    json rope = c.contains("rope_scaling") ? c["rope_scaling"] : json{{"rope_type", "default"}};
    rope["rope_theta"] = c["rope_theta"];
    rope["llama_4_scaling_beta"] = beta;
    if (!rope.contains("original_max_position_embeddings"))
        rope["original_max_position_embeddings"] = m.integer("rope.scaling.original_context_length", m.integer("context_length"));
    // mscale itself is not in the metadata, and the same in every released model.
    const double all = m.number("rope.scaling.yarn_log_multiplier", 0.0);
    if (all != 0) rope["mscale"] = rope["mscale_all_dim"] = all;
    c["rope_parameters"] = rope;
    c.erase("rope_scaling");
    return c;
}

/// OLMo 2 with windows; the rotation of layers with a window is not stretched.
json olmo3(const Meta& m) {
    json c = llama_like(m, "Olmo3ForCausalLM", "olmo3");
    read_windows(m, c, 4);
    json global = c.contains("rope_scaling") ? c["rope_scaling"] : json{{"rope_type", "default"}};
    global["rope_theta"] = c["rope_theta"];
    if (m.has("rope.scaling.attn_factor")) global["attention_factor"] = m.number("rope.scaling.attn_factor");
    const double local = m.number("rope.freq_base_swa", c["rope_theta"].get<double>());
    c["rope_parameters"] = {{"full_attention", global}, {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", local}}}};
    c.erase("rope_scaling");
    c.erase("rope_theta");
    c["attention_bias"] = biased(m, "attn_q");
    return c;
}

json olmo2(const Meta& m) {
    if (m.has("attention.sliding_window")) return olmo3(m);
    json c = llama_like(m, "Olmo2ForCausalLM", "olmo2");
    read_biases(m, c);
    return c;
}

}  // namespace

std::span<const GgufArchitecture> later_architectures() {
    static const std::array kAll = std::to_array<GgufArchitecture>({
        {"qwen2moe", kAsStored, qwen2_moe},
        {"qwen3moe", kAsStored, qwen3_moe},
        {"olmo2", kAsStored, olmo2},
        {"olmoe", kAsStored, olmoe},
        {"granitemoe", kGraniteMoe, granite_moe},
        {"starcoder2", kStarcoder2, starcoder2},
        {"chatglm", kGlm, glm},
        {"glm4", kGlm, glm4},
        {"cohere2", kAsStored, cohere2},
        {"ernie4_5", kAsStored, ernie4_5},
        {"exaone4", kAsStored, exaone4},
        {"seed_oss", kAsStored, seed_oss},
        {"nemotron", kNemotron, nemotron},
        {"arcee", kPaired, arcee},
        {"hunyuan-dense", kHunyuan, hunyuan},
        {"mistral3", kPaired, mistral3},
    });
    return kAll;
}

}  // namespace headlight::model::gguf
