// SPDX-License-Identifier: GPL-3.0-or-later
// A Llama-shaped model of one layer and one head whose matrices are written by hand: d_model = d_head = vocabulary.
#pragma once

#include "headlight/io/safetensors.h"
#include "headlight/model/model.h"
#include "tests/support/temp_folder.h"

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
    Entry mlp = [](std::int64_t, std::int64_t) { return 0.0F; };

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
        for (const char* part : {"gate_proj", "up_proj", "down_proj"}) add(block + "mlp." + part + ".weight", mlp, true);
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

}  // namespace headlight::analyze
