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

/// Differences between the two versions.
struct Version {
    std::int64_t dense_layers, shared, group_best;
    bool sigmoid;
    double scale;
};
constexpr Version kV2{.dense_layers = 0, .shared = 2, .group_best = 1, .sigmoid = false, .scale = 1.0};
constexpr Version kV3{.dense_layers = 3, .shared = 1, .group_best = 2, .sigmoid = true, .scale = 2.5};

/// Fields that only the authors' code or only transformers reads, where that changes the computation.
void refuse_variants(const ConfigReader& json, const Version& version) {
    json.require_flag("attention_bias", false, false);
    json.require_flag("mlp_bias", false, false);
    if (json.size({"moe_layer_freq"}, kMaxLayers, 1) != 1) json.unsupported("moe_layer_freq", "1");
    const std::string scoring = version.sigmoid ? "sigmoid" : "softmax";
    if (json.text({"scoring_func"}, scoring) != scoring) json.unsupported("scoring_func", "\"" + scoring + "\"");
    // transformers ignores V2's field, the authors' code follows it; no released model sets it.
    if (!version.sigmoid) json.require_flag("norm_topk_prob", false, false);
}

/// Groups that a token's experts come from; `group_best` as in Experts.
void read_groups(const ConfigReader& json, const Version& version, Experts& e) {
    e.groups = json.size({"n_group"}, kMaxExperts, version.sigmoid ? 8 : 1);
    e.groups_chosen = json.size({"topk_group"}, kMaxExperts, version.sigmoid ? 4 : 1);
    e.group_best = version.group_best;
    if (e.count % e.groups != 0)
        json.wrong("n_group", "a divisor of n_routed_experts, " + std::to_string(e.count), std::to_string(e.groups));
    const std::int64_t each = e.count / e.groups;
    if (e.groups_chosen > e.groups)
        json.wrong("topk_group", "at most n_group, " + std::to_string(e.groups), std::to_string(e.groups_chosen));
    if (each < e.group_best)
        json.wrong("n_group", "groups of at least " + std::to_string(e.group_best) + " experts", std::to_string(e.groups));
    if (e.groups_chosen * each < e.chosen)
        json.wrong("num_experts_per_tok",
                   "at most the " + std::to_string(e.groups_chosen * each) + " experts of topk_group groups",
                   std::to_string(e.chosen));
}

void read_experts(const ConfigReader& json, const Version& version, ModelConfig& c) {
    Experts& e = c.experts;
    e.count = json.size({"n_routed_experts", "num_experts", "num_local_experts"}, kMaxExperts);
    e.chosen = json.size({"num_experts_per_tok"}, kMaxExperts);
    e.width = json.size({"moe_intermediate_size"}, kMaxWidth);
    e.shared_width = e.width * json.size({"n_shared_experts"}, kMaxExperts, version.shared);
    e.dense_width = c.d_mlp;
    e.sigmoid = e.correction = version.sigmoid;
    e.wide_router = e.wide_weights = true;
    e.normalized = version.sigmoid && json.flag("norm_topk_prob", true);
    e.scale = json.number({"routed_scaling_factor"}, version.scale);
    const double dense = json.signed_number({"first_k_dense_replace"}, static_cast<double>(version.dense_layers));
    for (std::int64_t l = 0; l < c.n_layers; ++l) e.layers.push_back(static_cast<double>(l) >= dense);
    if (!e.layers.back())
        json.wrong("first_k_dense_replace", "fewer than num_hidden_layers, " + std::to_string(c.n_layers),
                   std::to_string(std::llround(dense)));
    finish_experts(json, c, "num_experts_per_tok", "n_routed_experts");
    const std::string method = json.text({"topk_method"}, version.sigmoid ? "noaux_tc" : "greedy");
    if (version.sigmoid ? method == "noaux_tc" : method == "group_limited_greedy")
        read_groups(json, version, e);
    else if (version.sigmoid || method != "greedy")
        json.unsupported("topk_method", version.sigmoid ? "\"noaux_tc\"" : "\"greedy\" or \"group_limited_greedy\"");
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

ModelConfig parse(const ConfigReader& json, const Version& version) {
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
    read_experts(json, version, c);
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
    ExpertNames names = kExpertNames;
    names.shared = "mlp.shared_experts.";
    names.correction = "mlp.gate.e_score_correction_bias";
    add_expert_rows(map, c, names);
    // Layers for multi-token prediction follow the last one.
    map.ignored.push_back("*layers." + std::to_string(c.n_layers) + ".*");
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
