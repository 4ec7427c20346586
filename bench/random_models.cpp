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
    /// [out, in], as everywhere but in GPT-2.
    void add_matrix(const std::string& name, std::int64_t out, std::int64_t in, float std = 0.02f) {
        add(name + ".weight", {out, in}, std);
    }
    const std::vector<io::ArrayRef>& arrays() const { return arrays_; }

private:
    std::mt19937 random_{20240521};
    std::deque<std::vector<float>> data_;
    std::vector<io::ArrayRef> arrays_;
};

nlohmann::json tokenizer_json(std::int64_t words) {
    nlohmann::json vocabulary = {{"[UNK]", 0}};
    for (std::int64_t i = 1; i < words; ++i) vocabulary["w" + std::to_string(i)] = i;
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

void write_folder(const std::filesystem::path& folder, const Weights& weights, const nlohmann::json& config, std::int64_t words) {
    std::filesystem::create_directories(folder);
    io::write_safetensors(folder / "model.safetensors", weights.arrays(), {{"format", "pt"}});
    io::write_atomically(folder / "config.json", config.dump());
    io::write_atomically(folder / "tokenizer.json", tokenizer_json(words).dump());
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
    write_folder(folder, weights, config, kVocabulary);
}

void write_random_llama(const std::filesystem::path& folder) {
    constexpr std::int64_t layers = 2, heads = 9, key_heads = 3, width = 576, mlp = 1536, words = 2048;
    constexpr std::int64_t keys = width / heads * key_heads;
    Weights weights;
    weights.add("model.embed_tokens.weight", {words, width}, 0.02f);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        const std::string block = "model.layers." + std::to_string(layer) + ".";
        weights.add(block + "input_layernorm.weight", {width}, 0.02f, 1);
        weights.add_matrix(block + "self_attn.q_proj", width, width, 0.06f);
        weights.add_matrix(block + "self_attn.k_proj", keys, width, 0.06f);
        weights.add_matrix(block + "self_attn.v_proj", keys, width);
        weights.add_matrix(block + "self_attn.o_proj", width, width);
        weights.add(block + "post_attention_layernorm.weight", {width}, 0.02f, 1);
        weights.add_matrix(block + "mlp.gate_proj", mlp, width);
        weights.add_matrix(block + "mlp.up_proj", mlp, width);
        weights.add_matrix(block + "mlp.down_proj", width, mlp);
    }
    weights.add("model.norm.weight", {width}, 0.02f, 1);
    write_folder(folder, weights,
                 {{"architectures", {"LlamaForCausalLM"}},
                  {"model_type", "llama"},
                  {"hidden_act", "silu"},
                  {"num_hidden_layers", layers},
                  {"num_attention_heads", heads},
                  {"num_key_value_heads", key_heads},
                  {"hidden_size", width},
                  {"intermediate_size", mlp},
                  {"max_position_embeddings", 65536},
                  {"vocab_size", words},
                  {"rms_norm_eps", 1e-5},
                  {"rope_theta", 100000.0},
                  {"tie_word_embeddings", true}},
                 words);
}

}  // namespace headlight::bench
