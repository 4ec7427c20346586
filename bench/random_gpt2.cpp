// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <deque>
#include <random>

namespace headlight::bench {
namespace {

constexpr std::int64_t kLayers = 12, kHeads = 12, kWidth = 768, kContext = 2048, kVocabulary = 50257;

/// Names and shapes as Hugging Face's GPT2LMHeadModel saves them; Conv1D weights are [in, out].
class Weights {
public:
    void add(std::string name, std::vector<std::int64_t> shape, float std, float mean = 0) {
        std::int64_t count = 1;
        for (const std::int64_t size : shape) count *= size;
        std::vector<float>& values = data_.emplace_back(static_cast<std::size_t>(count));
        const float half_width = std * 1.7320508f;  // a uniform distribution of this standard deviation
        for (float& value : values)
            value = mean + half_width * (static_cast<float>(random_() >> 8) * (2.0f / 16777216.0f) - 1.0f);
        arrays_.push_back({std::move(name), io::DType::F32, std::move(shape), std::as_bytes(std::span(values))});
    }
    void add_norm(const std::string& name) {
        add(name + ".weight", {kWidth}, 0.02f, 1);
        add(name + ".bias", {kWidth}, 0.02f);
    }
    void add_linear(const std::string& name, std::int64_t in, std::int64_t out, float std = 0.02f) {
        add(name + ".weight", {in, out}, std);
        add(name + ".bias", {out}, 0.02f);
    }
    const std::vector<io::ArrayRef>& arrays() const { return arrays_; }

private:
    std::mt19937 random_{20240521};
    std::deque<std::vector<float>> data_;
    std::vector<io::ArrayRef> arrays_;
};

nlohmann::json tokenizer_json() {
    nlohmann::json vocabulary = {{"[UNK]", 0}};
    for (std::int64_t i = 1; i < kVocabulary; ++i) vocabulary["w" + std::to_string(i)] = i;
    const nlohmann::json unknown = {{"id", 0},         {"content", "[UNK]"},  {"single_word", false}, {"lstrip", false},
                                    {"rstrip", false}, {"normalized", false}, {"special", true}};
    return {{"version", "1.0"},
            {"added_tokens", {unknown}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "Whitespace"}}},
            {"post_processor", nullptr},
            {"model",
             {{"type", "WordPiece"},
              {"unk_token", "[UNK]"},
              {"continuing_subword_prefix", "##"},
              {"max_input_chars_per_word", 100},
              {"vocab", vocabulary}}}};
}

}  // namespace

void write_random_gpt2(const std::filesystem::path& folder) {
    Weights weights;
    weights.add("transformer.wte.weight", {kVocabulary, kWidth}, 0.02f);
    weights.add("transformer.wpe.weight", {kContext, kWidth}, 0.02f);
    for (std::int64_t layer = 0; layer < kLayers; ++layer) {
        const std::string block = "transformer.h." + std::to_string(layer) + ".";
        weights.add_norm(block + "ln_1");
        weights.add_linear(block + "attn.c_attn", kWidth, 3 * kWidth, 0.06f);  // attention that is not flat
        weights.add_linear(block + "attn.c_proj", kWidth, kWidth);
        weights.add_norm(block + "ln_2");
        weights.add_linear(block + "mlp.c_fc", kWidth, 4 * kWidth);
        weights.add_linear(block + "mlp.c_proj", 4 * kWidth, kWidth);
    }
    weights.add_norm("transformer.ln_f");
    std::filesystem::create_directories(folder);
    io::write_safetensors(folder / "model.safetensors", weights.arrays(), {{"format", "pt"}});
    const nlohmann::json config = {{"architectures", {"GPT2LMHeadModel"}},
                                   {"model_type", "gpt2"},
                                   {"activation_function", "gelu_new"},
                                   {"n_layer", kLayers},
                                   {"n_head", kHeads},
                                   {"n_embd", kWidth},
                                   {"n_positions", kContext},
                                   {"n_ctx", kContext},
                                   {"vocab_size", kVocabulary},
                                   {"layer_norm_epsilon", 1e-5},
                                   {"tie_word_embeddings", true}};
    io::write_atomically(folder / "config.json", config.dump());
    io::write_atomically(folder / "tokenizer.json", tokenizer_json().dump());
}

}  // namespace headlight::bench
