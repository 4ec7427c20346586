// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-Neo: GPT-2 without scaling of the scores, every other layer with a window.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace gpt_neo {

/// "attention_layers": ["global", "local", …], or "attention_types": [[["global", "local"], 12]].
std::vector<std::string> layer_kinds(const ConfigReader& json, const ModelConfig& c) {
    std::vector<std::string> kinds = json.texts("attention_layers", c.n_layers);
    if (!kinds.empty()) return kinds;
    const nlohmann::json& types = json.raw("attention_types");
    const auto wrong = [&] {
        json.wrong("attention_types", "a list of [[names], count], " + std::to_string(c.n_layers) + " layers in all",
                   types.dump().substr(0, 60));
    };
    if (types.is_null()) {
        for (std::int64_t l = 0; l < c.n_layers; ++l) kinds.emplace_back(l % 2 == 0 ? "global" : "local");
        return kinds;
    }
    if (!types.is_array()) wrong();
    for (const nlohmann::json& item : types) {
        if (!item.is_array() || item.size() != 2 || !item[0].is_array() || !item[1].is_number_integer()) wrong();
        const auto times = item[1].get<std::int64_t>();
        if (times < 0 || times > c.n_layers) wrong();
        for (std::int64_t i = 0; i < times; ++i)
            for (const nlohmann::json& name : item[0]) {
                if (!name.is_string()) wrong();
                kinds.push_back(name.get<std::string>());
            }
    }
    if (static_cast<std::int64_t>(kinds.size()) != c.n_layers) wrong();
    return kinds;
}

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_sizes(json, c, {"num_layers", "num_hidden_layers"}, {"hidden_size"}, {"num_heads", "num_attention_heads"});
    c.d_mlp = json.size({"intermediate_size"}, kMaxWidth, 4 * c.d_model);
    c.vocab_size = json.size({"vocab_size"}, kMaxVocab);
    c.context_length = json.size({"max_position_embeddings"}, kMaxWidth, 2048);
    c.tied_unembedding = json.flag("tie_word_embeddings", true);
    c.norm_epsilon = json.number({"layer_norm_epsilon"}, 1e-5);
    c.activation = read_activation(json, "activation_function", "gelu_new");
    c.positions = Positions::learned;
    c.score_scale = 1.0;
    const std::int64_t window = json.size({"window_size"}, kMaxContext, 256);
    for (const std::string& kind : layer_kinds(json, c)) {
        if (kind != "global" && kind != "local") json.unsupported("attention_types", "layers that are global or local");
        c.windows.push_back(kind == "local" ? window : 0);
    }
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""}, .ignored = {"*attn.attention.bias", "*attn.attention.masked_bias"}};
    add_decoder(map, c,
                {.embed = "wte",
                 .pos_embed = "wpe",
                 .layer = {.at = "h.#.",
                           .ln1 = "ln_1",
                           .ln2 = "ln_2",
                           .qkv = {"attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"},
                           .o = "attn.attention.out_proj",
                           .mlp_in = "mlp.c_fc",
                           .mlp_out = "mlp.c_proj"},
                 .final_norm = "ln_f",
                 .head = "lm_head"});
    return map;
}

constexpr std::string_view kArchitectures[] = {"GPTNeoForCausalLM", "GPTNeoModel"};

}  // namespace gpt_neo

const Family kGptNeo = {"gpt_neo", gpt_neo::kArchitectures, "gpt_neo", gpt_neo::parse_config, gpt_neo::weight_map, decoder_spec};

}  // namespace headlight::model
