// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/config_json.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace headlight::cli {
namespace {

using model::Activation;
using model::Norm;
using model::Positions;
using model::RopeScaling;

const char* word(model::Alibi a) {
    switch (a) {
        case model::Alibi::bloom: return "bloom";
        case model::Alibi::mpt: return "mpt";
        case model::Alibi::falcon: return "falcon";
    }
    return "";
}

const char* word(Positions p) {
    switch (p) {
        case Positions::learned: return "learned";
        case Positions::alibi: return "alibi";
        case Positions::rotary: return "rotary";
        case Positions::relative: return "relative";
        case Positions::none: return "none";
    }
    return "";
}

const char* word(Norm n) { return n == Norm::rms_norm ? "rms_norm" : "layer_norm"; }

const char* word(Activation a) {
    switch (a) {
        case Activation::gelu: return "gelu";
        case Activation::gelu_tanh: return "gelu_tanh";
        case Activation::gelu_bloom: return "gelu_bloom";
        case Activation::relu: return "relu";
        case Activation::silu: return "silu";
        case Activation::quick_gelu: return "quick_gelu";
        case Activation::tanh: return "tanh";
        case Activation::relu_squared: return "relu_squared";
        case Activation::xielu: return "xielu";
    }
    return "";
}

const char* word(RopeScaling s) {
    switch (s) {
        case RopeScaling::none: return "none";
        case RopeScaling::linear: return "linear";
        case RopeScaling::llama3: return "llama3";
        case RopeScaling::dynamic: return "dynamic";
        case RopeScaling::yarn: return "yarn";
        case RopeScaling::longrope: return "longrope";
    }
    return "";
}

const char* word(model::QkNorm n) {
    switch (n) {
        case model::QkNorm::head: return "head";
        case model::QkNorm::each_head: return "each_head";
        case model::QkNorm::whole: return "whole";
        case model::QkNorm::none: break;
    }
    return "none";
}

void add_rope(nlohmann::ordered_json& json, const model::Rope& rope, const std::string& prefix) {
    json[prefix + "theta"] = rope.theta;
    json[prefix + "scaling"] = word(rope.scaling);
    if (rope.scaling == RopeScaling::none) return;
    if (rope.scaling != RopeScaling::longrope) json[prefix + "factor"] = rope.factor;
    if (rope.scaling != RopeScaling::linear) json[prefix + "original_context"] = rope.original_context;
    if (rope.scaling == RopeScaling::llama3) {
        json[prefix + "low_freq_factor"] = rope.low_freq_factor;
        json[prefix + "high_freq_factor"] = rope.high_freq_factor;
    }
    if (rope.attention_factor != 1.0) json[prefix + "attention_factor"] = rope.attention_factor;
    if (rope.far_attention_factor > 0) json[prefix + "far_attention_factor"] = rope.far_attention_factor;
}

void add_rotary(nlohmann::ordered_json& json, const model::ModelConfig& c) {
    json["rope_dims"] = c.rope_dims;
    json["rope_interleaved"] = c.rope_interleaved;
    add_rope(json, c.rope, "rope_");
    if (std::find(c.layer_rope.begin(), c.layer_rope.end(), model::LayerRope::local) != c.layer_rope.end())
        add_rope(json, c.local_rope, "local_rope_");
}

/// Settings are listed only if they differ from their default.
void add_special(nlohmann::ordered_json& json, const model::ModelConfig& c) {
    if (c.d_embed > 0) json["d_embed"] = c.d_embed;
    if (c.sinusoidal) json["sinusoidal"] = true;
    if (c.relative_buckets > 0) {
        json["relative_buckets"] = c.relative_buckets;
        json["relative_max_distance"] = c.relative_max_distance;
        if (c.relative_by_layer) json["relative_by_layer"] = true;
    }
    if (c.stack == model::Stack::decoder) json["start_ids"] = c.start_ids;
    if (c.logit_scale != 1.0) json["logit_scale"] = c.logit_scale;
    if (c.parallel) json["parallel"] = true;
    if (c.shared_norm) json["shared_norm"] = true;
    if (c.layer_scale) json["layer_scale"] = true;
    if (!c.input_norm) json["input_norm"] = false;
    if (c.branch_norm) json["branch_norm"] = true;
    if (!c.norm_gain) json["norm_gain"] = false;
    if (c.qk_norm != model::QkNorm::none) json["qk_norm"] = word(c.qk_norm);
    if (c.norm_after_rotation) json["norm_after_rotation"] = true;
    if (c.qkv_clip > 0) json["qkv_clip"] = c.qkv_clip;
    if (c.clip_normed) json["clip_normed"] = true;
    if (!c.qk_norm_gain) json["qk_norm_gain"] = false;
    if (c.norm_rotated) json["norm_rotated"] = true;
    if (c.query_growth.any()) {
        json["query_growth"] = {{"beta", c.query_growth.beta}, {"context", c.query_growth.context}};
        if (c.query_growth.first > 0) json["query_growth"]["first"] = c.query_growth.first;
        if (c.query_growth.unrotated) json["query_growth"]["unrotated"] = true;
    }
    if (c.dropped_token >= 0) json["dropped_token"] = {{"id", c.dropped_token}, {"kept_share", c.kept_share}};
    if (c.embed_scale != 1.0) json["embed_scale"] = c.embed_scale;
    if (c.score_softcap > 0) json["score_softcap"] = c.score_softcap;
    if (c.final_softcap > 0) json["final_softcap"] = c.final_softcap;
    if (const model::Disentangled& d = c.disentangled; d.any()) {
        std::vector<std::string> terms;
        if (d.content_to_position) terms.emplace_back("c2p");
        if (d.position_to_content) terms.emplace_back("p2c");
        json["disentangled"] = {{"terms", terms},       {"shared_projections", d.shared_projections},
                                {"normed", d.normed},   {"rows", 2 * d.span - (d.by_layer ? 1 : 0)},
                                {"buckets", d.buckets}, {"max_distance", d.max_distance}};
    }
    if (const model::Convolution& conv = c.convolution; conv.any())
        json["convolution"] = {{"width", conv.width}, {"groups", conv.groups}, {"activation", word(conv.activation)}};
    if (model::reads_pictures(c)) {
        json["image_size"] = {c.image_height, c.image_width};
        json["patch_size"] = c.patch_size;
        json["class_tokens"] = c.class_tokens;
        if (c.registers > 0) json["registers"] = c.registers;
        if (c.table_side > 0) json["table_side"] = c.table_side;
        if (c.smooth_table) json["smooth_table"] = true;
    }
    if (model::has_classes(c)) json["classes"] = c.labels;
    if (c.class_head.any()) {
        constexpr const char* kRows[] = {"every", "first", "last", "mean", "end", "patches", "class_and_patches"};
        json["class_head"] = {{"reads", kRows[static_cast<int>(c.class_head.reads)]}};
        if (c.class_head.dense) json["class_head"]["activation"] = word(c.class_head.activation);
        if (c.class_head.wraps) json["class_head"]["wraps"] = true;
        if (c.class_head.independent) json["class_head"]["independent"] = true;
    }
    if (c.d_projection > 0) json["d_projection"] = c.d_projection;
    if (const model::Latent& l = c.latent; l.any()) {
        json["latent"] = {{"rank", l.rank}, {"query_rank", l.query_rank}, {"content", l.content}};
        json["d_value"] = model::value_width(c);
    }
    if (model::has_implied_maps(c)) {
        for (const model::Mixer mixer : c.mixers)
            json["mixers"].push_back(mixer == model::Mixer::state_space ? "state_space" : "attention");
        const model::StateSpace& s = c.state_space;
        json["state_space"] = {{"groups", s.groups},
                               {"conv_width", s.conv_width},
                               {"conv_bias", s.conv_bias},
                               {"activation", word(s.activation)},
                               {"norm_groups", s.norm_groups}};
        if (s.least_step > 0) json["state_space"]["least_step"] = s.least_step;
        if (std::isfinite(s.largest_step)) json["state_space"]["largest_step"] = s.largest_step;
        json["d_value"] = model::value_width(c);
    }
    if (!c.windows.empty()) json["windows"] = c.windows;
    if (c.experts.count > 0) {
        json["experts"] = {{"count", c.experts.count},
                           {"chosen", c.experts.chosen},
                           {"width", c.experts.width},
                           {"shared_width", c.experts.shared_width},
                           {"normalized", c.experts.normalized}};
        if (!c.experts.layers.empty()) json["experts"]["dense_width"] = c.experts.dense_width;
        if (c.experts.sigmoid) json["experts"]["sigmoid"] = true;
        if (c.experts.weighs_input) json["experts"]["weighs_input"] = true;
        if (c.experts.scale != 1.0) json["experts"]["scale"] = c.experts.scale;
        if (c.experts.mixer_jitter > 0) json["experts"]["mixer_jitter"] = c.experts.mixer_jitter;
        if (c.experts.correction) json["experts"]["correction"] = true;
        if (c.experts.groups > 0) {
            json["experts"]["groups"] = c.experts.groups;
            json["experts"]["groups_chosen"] = c.experts.groups_chosen;
        }
    }
    if (c.scale_by_layer)
        for (std::int64_t l = 0; l < c.n_layers; ++l) json["score_scales"].push_back(model::score_scale_of(c, l));
    if (c.positions == Positions::alibi) json["alibi"] = {{"variant", word(c.alibi)}, {"max", c.alibi_max}};
    if (c.wide_scores) json["wide_scores"] = true;
    if (c.mlp_clamp > 0) json["mlp_clamp"] = c.mlp_clamp;
    if (c.attention_sinks) json["attention_sinks"] = true;
    bool labelled = false;
    nlohmann::ordered_json labels = nlohmann::ordered_json::array();
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        labels.push_back(model::layer_label(c, l));
        labelled = labelled || !model::layer_label(c, l).empty();
    }
    if (labelled) json["layers"] = labels;
}

}  // namespace

nlohmann::ordered_json config_json(const model::ModelConfig& c) {
    nlohmann::ordered_json json = {{"name", c.name},
                                   {"family", c.family},
                                   {"architecture", c.architecture},
                                   {"n_layers", c.n_layers},
                                   {"d_model", c.d_model},
                                   {"n_heads", c.n_heads},
                                   {"n_kv_heads", c.n_kv_heads},
                                   {"d_head", c.d_head},
                                   {"d_mlp", c.d_mlp},
                                   {"vocab_size", c.vocab_size},
                                   {"type_vocab_size", c.type_vocab_size},
                                   {"context_length", c.context_length},
                                   {"context_is_hard_limit", c.context_is_hard_limit},
                                   {"causal", c.causal},
                                   {"post_norm", c.post_norm},
                                   {"embed_norm", c.embed_norm},
                                   {"residual_after_norm", c.residual_after_norm},
                                   {"gated_mlp", c.gated_mlp},
                                   {"query_bias", c.query_bias},
                                   {"final_norm", c.final_norm},
                                   {"tied_unembedding", c.tied_unembedding},
                                   {"has_unembedding", c.has_unembedding},
                                   {"mlm_head", c.mlm_head},
                                   {"norm", word(c.norm)},
                                   {"norm_epsilon", c.norm_epsilon},
                                   {"activation", word(c.activation)},
                                   {"positions", word(c.positions)},
                                   {"score_scale", c.score_scale}};
    if (c.positions == Positions::rotary) add_rotary(json, c);
    add_special(json, c);
    return json;
}

}  // namespace headlight::cli
