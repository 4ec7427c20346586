// SPDX-License-Identifier: GPL-3.0-or-later
// A Llama-shaped model of one layer and one head whose matrices are written by hand: d_model = d_head = vocabulary.
#pragma once

#include "headlight/io/safetensors.h"
#include "headlight/model/model.h"
#include "headlight/text/tokenizer.h"
#include "tests/support/temp_folder.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headlight::analyze {

struct HandModel {
    std::int64_t size = 12;  ///< tokens, width and d_head
    using Entry = std::function<float(std::int64_t row, std::int64_t column)>;
    static float identity(std::int64_t r, std::int64_t c) { return r == c ? 1.0F : 0.0F; }
    Entry embed = identity, unembed = identity;                    ///< rows are tokens
    Entry q = identity, k = identity, v = identity, o = identity;  ///< math orientation x W
    static float zero(std::int64_t, std::int64_t) { return 0.0F; }
    Entry mlp = zero;   ///< of the gate and of the linear branch: column i is neuron i's key
    Entry down = zero;  ///< row i is neuron i's value

    std::shared_ptr<const model::Model> load(model::ComputeType type = model::ComputeType::float32) const {
        const test::TempFolder folder;
        std::deque<std::vector<float>> data;
        std::vector<io::ArrayRef> arrays;
        const auto add = [&](const std::string& name, const Entry& entry, bool transposed) {
            std::vector<float>& values = data.emplace_back();
            for (std::int64_t r = 0; r < size; ++r)
                for (std::int64_t c = 0; c < size; ++c) values.push_back(transposed ? entry(c, r) : entry(r, c));
            arrays.push_back({name, io::DType::F32, {size, size}, std::as_bytes(std::span(values))});
        };
        const auto ones = [&](const std::string& name) {
            std::vector<float>& values = data.emplace_back(static_cast<std::size_t>(size), 1.0F);
            arrays.push_back({name, io::DType::F32, {size}, std::as_bytes(std::span(values))});
        };
        add("model.embed_tokens.weight", embed, false);
        add("lm_head.weight", unembed, false);
        const std::string block = "model.layers.0.";
        add(block + "self_attn.q_proj.weight", q, true);
        add(block + "self_attn.k_proj.weight", k, true);
        add(block + "self_attn.v_proj.weight", v, true);
        add(block + "self_attn.o_proj.weight", o, true);
        for (const char* part : {"gate_proj", "up_proj"}) add(block + "mlp." + part + ".weight", mlp, true);
        add(block + "mlp.down_proj.weight", down, true);
        ones(block + "input_layernorm.weight");
        ones(block + "post_attention_layernorm.weight");
        ones("model.norm.weight");
        io::write_safetensors(folder / "model.safetensors", arrays, {});
        const std::string n = std::to_string(size);
        folder.write("config.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "hidden_size": )" + n + R"(, "head_dim": )" +
                                        n + R"(, "intermediate_size": )" + n + R"(, "vocab_size": )" + n +
                                        R"(, "num_attention_heads": 1, "num_key_value_heads": 1, "num_hidden_layers": 1,
            "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": false})");
        return model::Model::load(folder.path(), {.dtype = type});
    }
};

/// Its twelve tokens are [UNK] and the letters a to k, a word each.
inline std::shared_ptr<const text::Tokenizer> letters() {
    nlohmann::json vocabulary = {{"[UNK]", 0}};
    for (int i = 1; i < 12; ++i) vocabulary[std::string(1, static_cast<char>('a' + i - 1))] = i;
    const nlohmann::json json = {{"version", "1.0"},
                                 {"added_tokens", nlohmann::json::array()},
                                 {"normalizer", nullptr},
                                 {"pre_tokenizer", {{"type", "Whitespace"}}},
                                 {"post_processor", nullptr},
                                 {"decoder", nullptr},
                                 {"model",
                                  {{"type", "WordPiece"},
                                   {"unk_token", "[UNK]"},
                                   {"continuing_subword_prefix", "##"},
                                   {"max_input_chars_per_word", 9},
                                   {"vocab", vocabulary}}}};
    const test::TempFolder folder;
    return text::Tokenizer::from_json_file(folder.write("tokenizer.json", json.dump()));
}

}  // namespace headlight::analyze
