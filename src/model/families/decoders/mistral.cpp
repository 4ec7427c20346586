// SPDX-License-Identifier: GPL-3.0-or-later
// Mistral: Llama with a sliding window over the keys of every layer. Ministral 3: without the window; its queries are scaled by
// their position, from rope_parameters.original_max_position_embeddings on.
#include "model/families/decoders/llama_shape.h"

namespace headlight::model {
namespace mistral {

/// Queries behind the original context are scaled, which is not computed: it becomes a limit.
void end_before_scaled_queries(const ConfigReader& json, ModelConfig& c) {
    const auto rope = json.object("rope_parameters");
    if (!rope || rope->signed_number({"llama_4_scaling_beta"}, 0) == 0) return;
    const std::int64_t original = rope->size({"original_max_position_embeddings"}, kMaxContext);
    if (c.context_length <= original) return;
    c.context_length = original;
    c.context_is_hard_limit = true;
}

ModelConfig parse_config(const ConfigReader& json) {
    if (json.has("layer_types")) json.unsupported("layer_types", "no such field: one window for all layers");
    const bool third = json.text({"model_type"}, "") == "ministral3" || json.architecture().starts_with("Ministral3");
    ModelConfig c = llama_config(json, {.kv_heads = 8, .context = 4096 * 32});
    read_window(json, c, third ? std::nullopt : std::optional<std::int64_t>(4096));
    if (third) end_before_scaled_queries(json, c);
    return c;
}

constexpr std::string_view kArchitectures[] = {"MistralForCausalLM", "MistralModel", "Ministral3ForCausalLM", "Ministral3Model"};
constexpr std::string_view kTypes[] = {"ministral3"};

}  // namespace mistral

const Family kMistral = {
    .name = "mistral",
    .architectures = mistral::kArchitectures,
    .model_type = "mistral",
    .parse_config = mistral::parse_config,
    .weight_map = llama_weights,
    .spec = llama_spec,
    .other_types = mistral::kTypes,
};

}  // namespace headlight::model
