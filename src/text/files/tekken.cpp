// SPDX-License-Identifier: GPL-3.0-or-later
// tekken.json, Mistral's own file: tokens as bytes in the order of their ranks, and the pattern that cuts words. Turned into
// the content of a tokenizer.json as transformers' MistralConverter does.
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "text/files/json_fields.h"
#include "text/tokenizer_impl.h"
#include "text/unicode/byte_alphabet.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace headlight::text {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string in_alphabet(std::string_view bytes) {
    std::string out;
    for (const char b : bytes) out += byte_alphabet::of(static_cast<unsigned char>(b));
    return out;
}

/// The strings of the special tokens by rank, filled up to how many places they take.
std::vector<std::string> tekken_specials(const Field& root) {
    const auto listed = root.find("special_tokens");
    if (!listed)
        throw Error(ErrorFacts{.problem = "This kind of tekken.json is not supported",
                               .file = root.file(),
                               .item = "special_tokens",
                               .expected = "a list of the special tokens",
                               .found = "none: a file of an old version",
                               .hint = "Open a folder with the model's tokenizer.json"});
    const std::vector<Field> entries = listed->items();
    const auto known = static_cast<std::int64_t>(entries.size());
    std::vector<std::string> names(entries.size());
    for (const Field& entry : entries) {
        std::string& name = names[static_cast<std::size_t>(entry.at("rank").integer(0, known - 1))];
        if (!name.empty()) entry.at("rank").fail_expected("each rank once");
        name = entry.at("token_str").string();
    }
    const auto wanted = root.at("config").find("default_num_special_tokens");
    const std::int64_t count = wanted ? wanted->integer(known, 1 << 20) : known;
    while (static_cast<std::int64_t>(names.size()) < count) names.push_back("<SPECIAL_" + std::to_string(names.size()) + ">");
    return names;
}

/// The tokens' bytes by rank, without those that only fill a larger file.
std::vector<std::string> ranked_tokens(const Field& root, std::size_t special) {
    const std::vector<Field> list = root.at("vocab").items();
    std::size_t count = list.size();
    if (const auto size = root.at("config").find("default_vocab_size"))
        count = std::min(count,
                         static_cast<std::size_t>(size->integer(static_cast<std::int64_t>(special) + 1, kHighestId)) - special);
    std::vector<std::string> tokens;
    tokens.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Field bytes = list[i].at("token_bytes");
        auto token = from_base64(bytes.string());
        if (!token || token->empty()) bytes.fail_expected("bytes in base64");
        tokens.push_back(std::move(*token));
    }
    return tokens;
}

/// Every way to put a token together from two others, in the order of the ranks.
json merges_of(const std::vector<std::string>& tokens) {
    std::unordered_map<std::string_view, std::size_t> ranks;
    for (std::size_t i = 0; i < tokens.size(); ++i) ranks.emplace(tokens[i], i);
    json merges = json::array();
    for (const std::string_view token : tokens) {
        std::vector<std::array<std::size_t, 3>> cuts;  // left rank, right rank, place
        for (std::size_t at = 1; at < token.size(); ++at) {
            const auto left = ranks.find(token.substr(0, at)), right = ranks.find(token.substr(at));
            if (left != ranks.end() && right != ranks.end()) cuts.push_back({left->second, right->second, at});
        }
        std::ranges::sort(cuts);
        for (const auto& cut : cuts) merges.push_back({in_alphabet(token.substr(0, cut[2])), in_alphabet(token.substr(cut[2]))});
    }
    return merges;
}

}  // namespace

json json_from_tekken(const fs::path& file) {
    const json content = io::read_json(file);
    const Field root(content, file.string());
    const std::vector<std::string> special = tekken_specials(root), tokens = ranked_tokens(root, special.size());
    json vocab = json::object(), added = json::array();
    for (std::size_t i = 0; i < special.size(); ++i) {
        vocab[special[i]] = i;
        added.push_back({{"id", i}, {"content", special[i]}, {"normalized", false}, {"special", true}});
    }
    for (std::size_t i = 0; i < tokens.size(); ++i) vocab[in_alphabet(tokens[i])] = special.size() + i;
    json post = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}};
    if (const auto begin = std::ranges::find(special, "<s>"); begin != special.end()) {
        // The file does not say it; the models were trained with it, and their tokenizer.json puts it there.
        const json mark = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
        const auto part = [](const char* id, int type) { return json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
        post = {{"type", "TemplateProcessing"},
                {"single", {mark, part("A", 0)}},
                {"pair", {mark, part("A", 0), mark, part("B", 1)}},
                {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {begin - special.begin()}}, {"tokens", {"<s>"}}}}}}};
    }
    return {{"added_tokens", added},
            {"normalizer", nullptr},
            {"pre_tokenizer",
             {{"type", "Sequence"},
              {"pretokenizers",
               {{{"type", "Split"},
                 {"pattern", {{"Regex", root.at("config").at("pattern").string()}}},
                 {"behavior", "Isolated"},
                 {"invert", false}},
                {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}}}}},
            {"post_processor", post},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model",
             {{"type", "BPE"}, {"ignore_merges", true}, {"fuse_unk", false}, {"vocab", vocab}, {"merges", merges_of(tokens)}}}};
}

}  // namespace headlight::text
