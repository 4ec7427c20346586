// SPDX-License-Identifier: GPL-3.0-or-later
// The names of llama.cpp's llama-vocab.cpp, each with the pattern in the tokenizer.json of its models.
#include "text/files/gguf_pre_types.h"

#include <array>
#include <utility>
#include <vector>

namespace headlight::text {
namespace {

using nlohmann::json;

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
constexpr std::string_view kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
constexpr std::string_view kContraction = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)";

json split(std::string_view regex) {
    return {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
}
json bytes(bool with_regex) {
    return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", with_regex}};
}
json sequence(std::vector<json> steps) { return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; }
json split_and_bytes(std::string_view regex) { return sequence({split(regex), bytes(false)}); }
json digits(bool individual) { return {{"type", "Digits"}, {"individual_digits", individual}}; }

/// Words with their case: GPT-4o's and Tekken's pattern.
std::string cased_words(std::string_view contraction, std::string_view number) {
    const std::string head = R"([^\r\n\p{L}\p{N}]?)";
    return head + std::string(kUpper) + "*" + std::string(kLower) + "+" + std::string(contraction) + "|" + head +
           std::string(kUpper) + "+" + std::string(kLower) + "*" + std::string(contraction) + "|" + std::string(number) +
           R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

GgufPreType gpt2() { return {nullptr, bytes(true), false, false}; }
GgufPreType gpt2_digits() { return {nullptr, sequence({digits(true), bytes(true)}), false, false}; }
GgufPreType neox() { return {{{"type", "NFC"}}, bytes(true), false, false}; }
GgufPreType llama3() { return {nullptr, split_and_bytes(kLlama3), true, true}; }
GgufPreType three_digits() { return {nullptr, split_and_bytes(kLlama3), false, false}; }
GgufPreType qwen2() { return {{{"type", "NFC"}}, split_and_bytes(kQwen2), false, false}; }
GgufPreType stablelm2() { return {nullptr, split_and_bytes(kQwen2), false, false}; }
GgufPreType gpt4o() { return {nullptr, split_and_bytes(cased_words(kContraction, R"(\p{N}{1,3})")), false, false}; }
GgufPreType tekken() { return {nullptr, split_and_bytes(cased_words("", R"(\p{N})")), true, true}; }
GgufPreType bloom() { return {nullptr, split_and_bytes(R"( ?[^(\s|[.,!?…。，、।۔،])]+)"), false, false}; }
GgufPreType falcon() {
    const json punctuation = {{"type", "Punctuation"}, {"behavior", "Contiguous"}};
    return {nullptr, sequence({punctuation, bytes(true), digits(false), split("[0-9][0-9][0-9]")}), false, false};
}

GgufPreType deepseek_v3() {
    constexpr std::string_view words =
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    return {nullptr, sequence({split(R"(\p{N}{1,3})"), split("[一-龥぀-ゟ゠-ヿ]+"), split(words), bytes(false)}), false,
            false};
}

struct Row {
    std::string_view name;
    GgufPreType (*make)();
};

constexpr std::array kRows = std::to_array<Row>({
    {"default", gpt2},
    {"gpt-2", gpt2},
    {"phi-2", gpt2},
    {"jina-es", gpt2},
    {"jina-de", gpt2},
    {"roberta-bpe", gpt2},
    {"olmo", neox},
    {"dolma", neox},
    {"mpt", neox},
    {"jais", gpt2},
    {"smollm", gpt2_digits},
    {"starcoder", gpt2_digits},
    {"refact", gpt2_digits},
    {"codeshell", gpt2_digits},
    {"command-r", gpt2_digits},
    {"exaone", gpt2_digits},
    {"minerva-7b", gpt2_digits},
    {"llama3", llama3},
    {"llama-v3", llama3},
    {"llama-bpe", llama3},
    {"falcon3", llama3},
    {"dbrx", three_digits},
    {"smaug-bpe", three_digits},
    {"qwen2", qwen2},
    {"deepseek-r1-qwen", qwen2},
    {"stablelm2", stablelm2},
    {"gpt-4o", gpt4o},
    {"llama4", gpt4o},
    {"tekken", tekken},
    {"bloom", bloom},
    {"falcon", falcon},
    {"deepseek-v3", deepseek_v3},
});

}  // namespace

std::optional<GgufPreType> gguf_pre_type(std::string_view name) {
    for (const Row& row : kRows)
        if (row.name == name) return row.make();
    return std::nullopt;
}

std::string gguf_pre_type_names() {
    std::string list;
    for (const Row& row : kRows) list += (list.empty() ? "one of " : ", ") + std::string(row.name);
    return list;
}

}  // namespace headlight::text
