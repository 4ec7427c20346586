// SPDX-License-Identifier: GPL-3.0-or-later
// Cohere (Command R): LayerNorms without bias, neighbouring numbers rotate as pairs, attention and MLP in parallel.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace cohere {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(
        json, {.context = 8192, .tied = true, .epsilon_field = "layer_norm_eps", .epsilon = 1e-5, .rope_theta = 500000.0});
    c.norm = Norm::layer_norm;
    c.parallel = c.shared_norm = true;
    c.rope_interleaved = true;
    c.query_bias = json.flag("attention_bias", false);
    c.logit_scale = json.number({"logit_scale"}, 0.0625);
    if (json.flag("use_qk_norm", false)) {
        c.qk_norm = QkNorm::each_head;
        c.qk_norm_kind = Norm::layer_norm;
    }
    return c;
}

constexpr std::string_view kArchitectures[] = {"CohereForCausalLM", "CohereModel"};

}  // namespace cohere

const Family kCohere = {"cohere", cohere::kArchitectures, "cohere", cohere::parse_config, llama_weights, llama_spec};

}  // namespace headlight::model
