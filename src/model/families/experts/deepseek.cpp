// SPDX-License-Identifier: GPL-3.0-or-later
// DeepSeek-V2 and V3 (R1): Llama with keys and values made of a latent (MLA), experts after some dense layers, chosen by
// groups, and beside them experts that every token goes through.
#include "model/families/decoders/llama_shape.h"
#include "model/families/experts/experts.h"
#include "model/families/rows.h"
#include "model/load/rope_config.h"

#include <cmath>

namespace headlight::model {
namespace deepseek {

constexpr GroupedExperts kV2{.dense_layers = 0, .shared = 2, .sigmoid = false, .scale = 1.0, .groups = 1, .groups_chosen = 1};
constexpr GroupedExperts kV3{.dense_layers = 3, .shared = 1, .sigmoid = true, .scale = 2.5, .groups = 8, .groups_chosen = 4};

/// Fields that only the authors' code or only transformers reads, where that changes the computation.
void refuse_variants(const ConfigReader& json, const GroupedExperts& version) {
    json.require_flag("attention_bias", false, false);
    json.require_flag("mlp_bias", false, false);
    if (json.size({"moe_layer_freq"}, kMaxLayers, 1) != 1) json.unsupported("moe_layer_freq", "1");
    const std::string scoring = version.sigmoid ? "sigmoid" : "softmax";
    if (json.text({"scoring_func"}, scoring) != scoring) json.unsupported("scoring_func", "\"" + scoring + "\"");
    // transformers ignores V2's field, the authors' code follows it; no released model sets it.
    if (!version.sigmoid) json.require_flag("norm_topk_prob", false, false);
}

/// 1/sqrt(d_head), larger if the rotation is stretched: YaRN's temperature scales the whole score.
double scale_of_scores(const ConfigReader& json, const ModelConfig& c) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(c.d_head));
    auto rope = json.object("rope_parameters");
    if (!rope) rope = json.object("rope_scaling");
    if (!rope || rope->text({"rope_type", "type"}, "default") == "default") return scale;
    const double by = rope->signed_number({"mscale_all_dim"}, 0);
    if (by == 0 || c.rope.factor <= 1) return scale;
    const double stretched = 0.1 * by * std::log(c.rope.factor) + 1.0;
    return scale * stretched * stretched;
}

ModelConfig parse(const ConfigReader& json, const GroupedExperts& version) {
    refuse_variants(json, version);
    ModelConfig c;
    c.n_layers = json.size({"num_hidden_layers"}, kMaxLayers);
    c.d_model = json.size({"hidden_size"}, kMaxWidth);
    c.n_heads = json.size({"num_attention_heads"}, kMaxHeads);
    c.n_kv_heads = read_kv_heads(json, c);
    if (c.n_kv_heads != c.n_heads)
        json.unsupported("num_key_value_heads", "as many as num_attention_heads, " + std::to_string(c.n_heads));
    c.latent.rank = json.size({"kv_lora_rank"}, kMaxWidth);
    if (json.has("q_lora_rank")) c.latent.query_rank = json.size({"q_lora_rank"}, kMaxWidth);
    c.latent.content = json.size({"qk_nope_head_dim"}, kMaxWidth);
    c.d_value = json.size({"v_head_dim"}, kMaxWidth);
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, version.sigmoid ? 4096 : 2048);
    c.context_is_hard_limit = false;
    c.gated_mlp = true;
    c.mlp_bias = false;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.norm = Norm::rms_norm;
    c.norm_epsilon = json.number({"rms_norm_eps"}, 1e-6);
    c.activation = read_activation(json, "hidden_act", "silu");
    c.positions = Positions::rotary;
    // V2 rotates neighbours, V3 where the file says so.
    c.rope_interleaved = !version.sigmoid || json.flag("rope_interleave", true);
    c.d_head = json.size({"qk_rope_head_dim"}, kMaxWidth);  // all of what rotates; the rotation knows of nothing else
    read_rope(json, c);
    c.d_head += c.latent.content;
    c.score_scale = scale_of_scores(json, c);
    read_grouped_experts(json, c, version);
    return c;
}

ModelConfig parse_v2(const ConfigReader& json) { return parse(json, kV2); }
ModelConfig parse_v3(const ConfigReader& json) { return parse(json, kV3); }

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map = llama_map(c);
    std::erase_if(map.rows, [](const WeightRow& row) {
        return row.slot == Slot::q_weight || row.slot == Slot::k_weight || row.slot == Slot::v_weight ||
               row.slot == Slot::o_weight;
    });
    const Latent& l = c.latent;
    const std::string at = "layers.#.self_attn.";
    const std::int64_t d = c.d_model, queries = c.n_heads * c.d_head;
    if (l.query_rank > 0) {
        add_linear(map, Slot::q_down_weight, at + "q_a_proj", l.query_rank, d, false);
        add_norm(map, Slot::q_latent_gain, at + "q_a_layernorm", l.query_rank, false);
        add_linear(map, Slot::q_weight, at + "q_b_proj", queries, l.query_rank, false);
    } else {
        add_linear(map, Slot::q_weight, at + "q_proj", queries, d, false);
    }
    add_linear(map, Slot::kv_down_weight, at + "kv_a_proj_with_mqa", l.rank + c.rope_dims, d, false);
    add_norm(map, Slot::latent_gain, at + "kv_a_layernorm", l.rank, false);
    add_linear(map, Slot::kv_up_weight, at + "kv_b_proj", c.n_heads * (l.content + c.d_value), l.rank, false);
    add_linear(map, Slot::o_weight, at + "o_proj", d, c.n_heads * c.d_value, false);
    add_grouped_experts(map, c);
    return map;
}

constexpr std::string_view kV2Architectures[] = {"DeepseekV2ForCausalLM", "DeepseekV2Model"};
constexpr std::string_view kV3Architectures[] = {"DeepseekV3ForCausalLM", "DeepseekV3Model"};

}  // namespace deepseek

const Family kDeepseekV2 = {"deepseek_v2",      deepseek::kV2Architectures, "deepseek_v2",
                            deepseek::parse_v2, deepseek::weight_map,       llama_spec};
const Family kDeepseekV3 = {"deepseek_v3",      deepseek::kV3Architectures, "deepseek_v3",
                            deepseek::parse_v3, deepseek::weight_map,       llama_spec};

}  // namespace headlight::model
