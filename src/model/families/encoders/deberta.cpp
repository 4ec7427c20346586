// SPDX-License-Identifier: GPL-3.0-or-later
// DeBERTa (He et al. 2021), DeBERTa-v2 and v3 (2023): BERT whose scores have terms of content and relative position. The first
// has no buckets of distances, and one matrix of queries, keys and values.
#include "model/families/encoders/encoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

#include <algorithm>
#include <cmath>

namespace headlight::model {
namespace deberta {

constexpr std::int64_t kMaxConvolution = 1023;  ///< tokens of its kernel; the models there are have 3

/// "c2p|p2c", or a list of such.
std::vector<std::string> score_terms(const ConfigReader& json) {
    const nlohmann::json& value = json.raw("pos_att_type");
    std::vector<std::string> names;
    if (value.is_null()) return names;
    const auto take = [&](const std::string& text) {
        for (std::size_t from = 0; from <= text.size();) {
            const std::size_t to = std::min(text.find('|', from), text.size());
            if (to > from) names.push_back(text.substr(from, to - from));
            from = to + 1;
        }
    };
    if (value.is_string()) take(value.get<std::string>());
    if (value.is_array())
        for (const auto& entry : value)
            if (entry.is_string()) take(entry.get<std::string>());
    for (const std::string& name : names)
        if (name != "c2p" && name != "p2c") json.unsupported("pos_att_type", "\"c2p\" and \"p2c\"");
    if (names.empty() && !(value.is_array() && value.empty()))
        json.wrong("pos_att_type", "\"c2p\", \"p2c\" or both", value.dump());
    return names;
}

/// A number, or -1 for "not set".
std::int64_t or_unset(const ConfigReader& json, std::string_view name, std::int64_t unset) {
    return json.signed_number({name}, -1) < 1 ? unset : json.size({name}, kMaxContext);
}

/// The terms of the score; whether it has relative positions at all.
bool read_terms(const ConfigReader& json, ModelConfig& c) {
    const std::vector<std::string> terms = score_terms(json);
    const bool c2p = std::ranges::count(terms, "c2p") > 0, p2c = std::ranges::count(terms, "p2c") > 0;
    if (std::ssize(terms) != c2p + p2c) json.unsupported("pos_att_type", "each term once");
    // Counted even if the positions are not relative, as in transformers.
    c.score_scale = 1.0 / std::sqrt(static_cast<double>(c.d_head * (1 + c2p + p2c)));
    if (!json.flag("relative_attention", false)) return false;
    Disentangled& d = c.disentangled;
    d.content_to_position = c2p;
    d.position_to_content = p2c;
    d.max_distance = or_unset(json, "max_relative_positions", json.size({"max_position_embeddings"}, kMaxContext, 512));
    d.span = d.max_distance;
    if (d.span > kMaxWidth) json.wrong("max_relative_positions", "at most " + std::to_string(kMaxWidth), std::to_string(d.span));
    return true;
}

void read_relative(const ConfigReader& json, ModelConfig& c) {
    Disentangled& d = c.disentangled;
    if (!read_terms(json, c)) return;
    d.shared_projections = json.flag("share_att_key", false);
    d.buckets = or_unset(json, "position_buckets", 0);
    if (d.buckets > 0) d.span = d.buckets;
    if (d.span > kMaxWidth) json.wrong("position_buckets", "at most " + std::to_string(kMaxWidth), std::to_string(d.span));
    if (d.buckets == 1) json.wrong("position_buckets", "at least 2", "1");
    if (d.buckets > 0 && d.max_distance - 1 <= d.buckets / 2)
        json.wrong("max_relative_positions", "more than half of position_buckets", std::to_string(d.max_distance));
    const std::string norm = json.text({"norm_rel_ebd"}, "none");
    if (norm != "none" && norm != "layer_norm") json.unsupported("norm_rel_ebd", "\"none\" or \"layer_norm\"");
    d.normed = norm == "layer_norm";
}

/// Beside layer 0, in deberta-v2-xlarge and -xxlarge.
void read_convolution(const ConfigReader& json, ModelConfig& c) {
    if (json.signed_number({"conv_kernel_size"}, 0) <= 0) return;
    Convolution& conv = c.convolution;
    conv.width = json.size({"conv_kernel_size"}, kMaxConvolution);
    if (conv.width % 2 == 0)
        json.wrong("conv_kernel_size", "an odd number, so that there is one output for each token", std::to_string(conv.width));
    conv.groups = json.size({"conv_groups"}, kMaxWidth, 1);
    if (c.d_model % conv.groups != 0)
        json.wrong("conv_groups", "a divisor of hidden_size " + std::to_string(c.d_model), std::to_string(conv.groups));
    conv.activation = read_activation(json, "conv_act", "tanh");
}

ModelConfig parse_plain(const ConfigReader& json) {
    ModelConfig c = encoder_config(json);
    if (json.size({"attention_head_size"}, kMaxWidth, c.d_head) != c.d_head)
        json.unsupported("attention_head_size", "hidden_size / num_attention_heads = " + std::to_string(c.d_head));
    if (json.size({"embedding_size"}, kMaxWidth, c.d_model) != c.d_model)
        json.unsupported("embedding_size", "hidden_size = " + std::to_string(c.d_model));
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth);
    if (json.signed_number({"type_vocab_size"}, 0) != 0) c.type_vocab_size = json.size({"type_vocab_size"}, kMaxWidth);
    c.context_length = json.size({"max_position_embeddings"}, kMaxContext, 512);
    c.positions = json.flag("position_biased_input", true) ? Positions::learned : Positions::none;
    c.context_is_hard_limit = c.positions == Positions::learned;
    c.legacy_mlm_head = json.flag("legacy", true);
    c.tied_unembedding = json.flag("tie_word_embeddings", true) || !c.legacy_mlm_head;
    c.norm_epsilon = json.number({"layer_norm_eps"}, 1e-7);
    c.activation = c.mlm_activation = read_activation(json, "hidden_act", "gelu");
    return c;
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = parse_plain(json);
    read_relative(json, c);
    read_convolution(json, c);
    return c;
}

ModelConfig parse_v1(const ConfigReader& json) {
    json.require_flag("talking_head", false, false);
    ModelConfig c = parse_plain(json);
    read_terms(json, c);
    return c;
}

/// There are two heads: that of the authors' files, and the one of transformers (`legacy`). A file with only one of them is
/// read with that one.
void add_mlm_head(WeightMap& map, const ModelConfig& c) {
    const std::int64_t d = c.d_model;
    const std::string theirs = "lm_predictions.lm_head.", own = "cls.predictions.";
    const auto both = [&](const std::string& ours, const std::string& in_own) {
        std::vector<std::string> names = {own + in_own, theirs + ours};
        if (!c.legacy_mlm_head) std::ranges::reverse(names);
        return names;
    };
    std::vector<WeightRow> rows = {
        {Slot::mlm_weight, both("dense.weight", "transform.dense.weight"), {d, d}, Layout::out_in},
        {Slot::mlm_bias, both("dense.bias", "transform.dense.bias"), {d}},
        {Slot::mlm_norm_gain, both("LayerNorm.weight", "transform.LayerNorm.weight"), {d}},
        {Slot::mlm_norm_bias, both("LayerNorm.bias", "transform.LayerNorm.bias"), {d}},
        {Slot::unembed_bias, both("bias", "bias"), {c.vocab_size}},
    };
    if (!c.tied_unembedding && c.legacy_mlm_head) {
        rows.back().names = {own + "decoder.bias", own + "bias"};
        rows.push_back({Slot::unembed, {own + "decoder.weight"}, {c.vocab_size, d}, Layout::out_in});
    }
    map.ignored.push_back("*" + own + "*");
    map.ignored.push_back("*" + theirs + "*");
    for (WeightRow& row : rows) {
        row.head = !c.architecture.ends_with("ForMaskedLM");
        map.rows.push_back(std::move(row));
    }
}

WeightMap weight_map(const ModelConfig& c) {
    const std::int64_t d = c.d_model;
    const std::string self = "encoder.layer.#.attention.self.";
    const Disentangled& terms = c.disentangled;
    const bool first = c.family == "deberta";
    WeightMap map{.prefixes = {"deberta.", ""},
                  .head_name = "MLM head",
                  .ignored = {"*embeddings.position_ids", "*embeddings.position_embeddings.weight", "*pooler.dense.*",
                              "*mask_predictions.*"}};
    add_bert_embeddings(map, c);
    if (terms.any()) {
        map.rows.push_back({Slot::relative_embed, {"encoder.rel_embeddings.weight"}, {2 * terms.span, d}});
        if (terms.normed) add_norm(map, Slot::relative_norm_gain, "encoder.LayerNorm", d);
    }
    LayerNames names = bert_layer();
    names.qkv = {"attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"};
    ModelConfig layers = c;
    if (first) {  // each head's query, key and value in turn; the keys have no bias
        map.qkv = QkvLayout::grouped;
        names.qkv = {"attention.self.in_proj"};
        layers.query_bias = false;
        map.rows.push_back({Slot::q_bias, {self + "q_bias"}, {d}});
        map.rows.push_back({Slot::v_bias, {self + "v_bias"}, {d}});
    }
    add_layers(map, layers, names);
    if (terms.content_to_position && !terms.shared_projections)
        add_linear(map, Slot::relative_k_weight, self + (first ? "pos_proj" : "pos_key_proj"), d, d, !first);
    if (terms.position_to_content && !terms.shared_projections)
        add_linear(map, Slot::relative_q_weight, self + (first ? "pos_q_proj" : "pos_query_proj"), d, d);
    if (const Convolution& conv = c.convolution; conv.any()) {
        map.rows.push_back({Slot::conv_weight, {"encoder.conv.conv.weight"}, {d, d / conv.groups, conv.width}});
        map.rows.push_back({Slot::conv_bias, {"encoder.conv.conv.bias"}, {d}});
        add_norm(map, Slot::conv_norm_gain, "encoder.conv.LayerNorm", d);
    }
    add_mlm_head(map, c);
    return map;
}

constexpr std::string_view kArchitectures[] = {"DebertaV2Model", "DebertaV2ForMaskedLM"};
constexpr std::string_view kV1Architectures[] = {"DebertaModel", "DebertaForMaskedLM"};

}  // namespace deberta

const Family kDebertaV2 = {"deberta-v2",          deberta::kArchitectures, "deberta-v2",
                           deberta::parse_config, deberta::weight_map,     encoder_spec};
const Family kDeberta = {"deberta", deberta::kV1Architectures, "deberta", deberta::parse_v1, deberta::weight_map, encoder_spec};

}  // namespace headlight::model
