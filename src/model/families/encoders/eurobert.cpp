// SPDX-License-Identifier: GPL-3.0-or-later
// EuroBERT: Llama that attends both ways, with a masked-word head that is the unembedding alone.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace eurobert {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.context = 8192, .epsilon = 1e-5});
    c.causal = false;
    c.query_bias = json.flag("attention_bias", false);
    c.mlp_bias = c.unembed_bias = json.flag("mlp_bias", false);
    return c;
}

WeightMap weight_map(const ModelConfig& c) { return llama_map(c, {.o_bias = c.query_bias, .head_bias = c.unembed_bias}); }

constexpr std::string_view kArchitectures[] = {"EuroBertModel", "EuroBertForMaskedLM"};

}  // namespace eurobert

const Family kEurobert = {"eurobert", eurobert::kArchitectures, "eurobert", eurobert::parse_config, eurobert::weight_map,
                          llama_spec};

}  // namespace headlight::model
