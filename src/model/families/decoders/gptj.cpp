// SPDX-License-Identifier: GPL-3.0-or-later
// GPT-J: neighbouring numbers rotate as pairs, attention and MLP in parallel after one norm.
#include "model/families/decoders/decoder_shape.h"
#include "model/families/registry.h"
#include "model/load/config_reader.h"

namespace headlight::model {
namespace gptj {

ModelConfig parse_config(const ConfigReader& json) {
    ModelConfig c;
    read_gpt2_sizes(json, c, kMaxContext, 2048);
    c.context_is_hard_limit = false;
    c.parallel = c.shared_norm = true;
    c.tied_unembedding = json.flag("tie_word_embeddings", false);
    c.activation = read_activation(json, "activation_function", "gelu_new");
    c.positions = Positions::rotary;
    c.rope_dims = json.size({"rotary_dim"}, kMaxWidth, json.mentions("rotary_dim") ? c.d_head : 64);
    if (c.rope_dims % 2 != 0 || c.rope_dims > c.d_head)
        json.wrong("rotary_dim", "an even number up to " + std::to_string(c.d_head), std::to_string(c.rope_dims));
    c.rope_interleaved = true;
    return c;
}

WeightMap weight_map(const ModelConfig& c) {
    WeightMap map{.prefixes = {"transformer.", ""}, .ignored = {"*attn.bias", "*attn.masked_bias", "*attn.embed_positions"}};
    add_decoder(map, c,
                {.embed = "wte",
                 .layer = {.at = "h.#.",
                           .ln1 = "ln_1",
                           .qkv = {"attn.q_proj", "attn.k_proj", "attn.v_proj"},
                           .o = "attn.out_proj",
                           .mlp_in = "mlp.fc_in",
                           .mlp_out = "mlp.fc_out",
                           .o_bias = false},
                 .final_norm = "ln_f",
                 .head = "lm_head",
                 .head_bias = true});
    return map;
}

constexpr std::string_view kArchitectures[] = {"GPTJForCausalLM", "GPTJModel"};

}  // namespace gptj

const Family kGptj = {"gptj", gptj::kArchitectures, "gptj", gptj::parse_config, gptj::weight_map, decoder_spec};

}  // namespace headlight::model
