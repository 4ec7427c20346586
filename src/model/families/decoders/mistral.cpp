// SPDX-License-Identifier: GPL-3.0-or-later
// Mistral: Llama with a sliding window over the keys of every layer. Ministral: of the layers that "layer_types" names. Ministral
// 3: without windows in released files; queries grow with their position.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace mistral {

/// "layer_types" without windows in some layers (Ministral), or one window for all.
void read_windows(const ConfigReader& json, ModelConfig& c) {
    const bool windows = json.has("sliding_window") || !json.mentions("sliding_window");
    if (!json.has("layer_types")) return read_window(json, c, 4096);
    read_layer_types(json, c, windows ? json.size({"sliding_window"}, kMaxContext, 4096) : 0, [](std::int64_t) { return false; });
}

ModelConfig parse_config(const ConfigReader& json) {
    if (json.has("layer_types")) json.unsupported("layer_types", "no such field: one window for all layers");
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32});
    read_window(json, c, 4096);
    return c;
}

ModelConfig parse_ministral(const ConfigReader& json) {
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32});
    read_windows(json, c);
    return c;
}

ModelConfig parse_ministral3(const ConfigReader& json) {
    const auto rope = json.object("rope_parameters");
    if (!rope) json.unsupported("rope_parameters", "an object with llama_4_scaling_beta and the rotation");
    ModelConfig c = llama_config(json, {.kv_heads = 8,
                                        .d_head = json.mentions("head_dim") ? std::nullopt : std::optional<std::int64_t>(128),
                                        .context = 262144,
                                        .epsilon = 1e-5});
    read_window(json, c, std::nullopt);
    c.query_growth.beta = rope->signed_number({"llama_4_scaling_beta"}, 0);
    if (c.query_growth.any()) c.query_growth.context = rope->size({"original_max_position_embeddings"}, kMaxContext);
    return c;
}

constexpr std::string_view kArchitectures[] = {"MistralForCausalLM", "MistralModel"};
constexpr std::string_view kMinistralNames[] = {"MinistralForCausalLM", "MinistralModel"};
constexpr std::string_view kMinistral3Names[] = {"Ministral3ForCausalLM", "Ministral3Model"};

}  // namespace mistral

const Family kMistral = {"mistral", mistral::kArchitectures, "mistral", mistral::parse_config, llama_weights, llama_spec};
const Family kMinistral = {"ministral", mistral::kMinistralNames, "ministral", mistral::parse_ministral, llama_weights,
                           llama_spec};
const Family kMinistral3 = {"ministral3", mistral::kMinistral3Names, "ministral3", mistral::parse_ministral3, llama_weights,
                            llama_spec};

}  // namespace headlight::model
