// SPDX-License-Identifier: GPL-3.0-or-later
// Granite: Llama with multipliers on embedding, scores, residual branches and logits.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace granite {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json);
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = json.flag("mlp_bias", false);
    c.embed_scale = json.number({"embedding_multiplier"}, 1.0);
    c.score_scale = json.number({"attention_multiplier"}, 1.0);
    c.residual_scale = json.number({"residual_multiplier"}, 1.0);
    c.logit_scale = 1.0 / json.number({"logits_scaling"}, 1.0);
    return c;
}

constexpr std::string_view kArchitectures[] = {"GraniteForCausalLM", "GraniteModel"};

}  // namespace granite

const Family kGranite = {"granite", granite::kArchitectures, "granite", granite::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
