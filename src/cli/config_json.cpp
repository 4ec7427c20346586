// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/config_json.h"

namespace headlight::cli {
namespace {

using model::Activation;
using model::Norm;
using model::Positions;
using model::RopeScaling;

const char* word(Positions p) {
    switch (p) {
        case Positions::learned:
            return "learned";
        case Positions::alibi:
            return "alibi";
        case Positions::rotary:
            return "rotary";
        case Positions::none:
            return "none";
    }
    return "";
}

const char* word(Norm n) {
    return n == Norm::rms_norm ? "rms_norm" : "layer_norm";
}

const char* word(Activation a) {
    switch (a) {
        case Activation::gelu:
            return "gelu";
        case Activation::gelu_tanh:
            return "gelu_tanh";
        case Activation::gelu_bloom:
            return "gelu_bloom";
        case Activation::relu:
            return "relu";
        case Activation::silu:
            return "silu";
    }
    return "";
}

const char* word(RopeScaling s) {
    switch (s) {
        case RopeScaling::none:
            return "none";
        case RopeScaling::linear:
            return "linear";
        case RopeScaling::llama3:
            return "llama3";
    }
    return "";
}

void add_rotary(nlohmann::ordered_json& json, const model::ModelConfig& c) {
    json["rope_theta"] = c.rope_theta;
    json["rope_dims"] = c.rope_dims;
    json["rope_scaling"] = word(c.rope_scaling);
    if (c.rope_scaling == RopeScaling::none) return;
    json["rope_factor"] = c.rope_factor;
    if (c.rope_scaling != RopeScaling::llama3) return;
    json["rope_low_freq_factor"] = c.rope_low_freq_factor;
    json["rope_high_freq_factor"] = c.rope_high_freq_factor;
    json["rope_original_context"] = c.rope_original_context;
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
    return json;
}

}  // namespace headlight::cli
