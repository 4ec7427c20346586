// SPDX-License-Identifier: GPL-3.0-or-later
// The vocabulary inside a GGUF file, turned into the content of the tokenizer.json that it was made from.
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "text/files/gguf_pre_types.h"
#include "text/files/merges_of_scores.h"
#include "text/files/piece_type.h"
#include "text/tokenizer_impl.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <array>

namespace headlight::text {
namespace {

using nlohmann::json;

class GgufVocab {
public:
    explicit GgufVocab(const io::GgufFile& file) : file_(file), metadata_(file.metadata()) {
        const json& tokens = list("tokens");
        for (const json& token : tokens) {
            if (!token.is_string()) fail("tokens", "texts", token.type_name());
            tokens_.push_back(token.get<std::string>());
            if (utf8::first_invalid(tokens_.back()))
                fail("tokens[" + std::to_string(tokens_.size() - 1) + "]", "UTF-8", "other bytes");
        }
        if (tokens_.empty()) fail("tokens", "at least one token", "none");
        types_.assign(tokens_.size(), normal);
        if (const json* types = find("token_type")) {
            if (!types->is_array() || types->size() != tokens_.size())
                fail("token_type", "as many as tokens: " + std::to_string(tokens_.size()), std::to_string(types->size()));
            for (std::size_t i = 0; i < types_.size(); ++i) {
                if (!(*types)[i].is_number_integer()) fail("token_type", "whole numbers", (*types)[i].type_name());
                types_[i] = (*types)[i].get<std::int64_t>();
            }
        }
    }

    json tokenizer() const {
        const std::string model = text("model", "");
        if (model == "gpt2") return byte_level();
        if (model == "llama") return sentence_piece();
        if (model == "bert") return word_piece();
        fail("model", "gpt2, llama or bert", model.empty() ? "no such key" : model,
             "Open a folder with the model's own tokenizer.json and this file in it");
    }

private:
    [[noreturn]] void fail(const std::string& key, const std::string& expected, const std::string& found,
                           const std::string& hint = "") const {
        throw Error(ErrorFacts{.problem = "The file's vocabulary cannot be read",
                               .file = file_.path().string(),
                               .item = "tokenizer.ggml." + key,
                               .expected = expected,
                               .found = found,
                               .hint = hint});
    }

    const json* find(const std::string& key) const {
        const auto entry = metadata_.find("tokenizer.ggml." + key);
        return entry == metadata_.end() ? nullptr : &*entry;
    }
    const json& list(const std::string& key) const {
        const json* value = find(key);
        if (!value || !value->is_array()) fail(key, "an array", value ? value->type_name() : "no such key");
        return *value;
    }
    std::string text(const std::string& key, const std::string& fallback) const {
        const json* value = find(key);
        if (!value) return fallback;
        if (!value->is_string()) fail(key, "a text", value->type_name());
        return value->get<std::string>();
    }
    bool flag(const std::string& key, bool fallback) const {
        const json* value = find(key);
        if (!value) return fallback;
        if (!value->is_boolean()) fail(key, "true or false", value->type_name());
        return value->get<bool>();
    }
    /// The token that a key like bos_token_id names.
    std::optional<std::int64_t> id(const std::string& key) const {
        const json* value = find(key);
        if (!value) return std::nullopt;
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= tokens_.size())
            fail(key, "0 to " + std::to_string(tokens_.size() - 1), value->dump());
        return value->get<std::int64_t>();
    }

    std::optional<std::int64_t> first_of(std::initializer_list<const char*> keys) const {
        for (const char* key : keys)
            if (const auto found = id(key)) return found;
        return std::nullopt;
    }

    json vocab_of(const std::vector<std::string>& tokens) const {
        json vocab = json::object();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const auto [place, fresh] = vocab.emplace(tokens[i], i);
            if (!fresh)
                fail("tokens[" + std::to_string(i) + "]", "every token once", "the string of token " + place->dump() + " again");
        }
        return vocab;
    }

    /// Control tokens are special; those that a user defined are only cut out of the text.
    json added_tokens(const std::vector<std::string>& tokens) const {
        json added = json::array();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const bool special = types_[i] == control || types_[i] == unknown;
            if ((!special && types_[i] != user_defined) || tokens[i].empty()) continue;
            added.push_back({{"id", i}, {"content", tokens[i]}, {"normalized", false}, {"special", special}});
        }
        return added;
    }

    /// The tokens that begin and end a text, if the file asks for them.
    json template_of(bool begin_by_itself) const {
        const auto bos = id("bos_token_id"), eos = id("eos_token_id");
        const bool begins = bos && flag("add_bos_token", begin_by_itself), ends = eos && flag("add_eos_token", false);
        if (!begins && !ends) return nullptr;
        json special = json::object(), single = json::array(), pair = json::array();
        const auto around = [&](json& list, const char* sequence, int type) {
            const auto token = [&](std::int64_t which) {
                const std::string& name = tokens_[static_cast<std::size_t>(which)];
                special[name] = {{"id", name}, {"ids", {which}}, {"tokens", {name}}};
                list.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
            };
            if (begins) token(*bos);
            list.push_back({{"Sequence", {{"id", sequence}, {"type_id", type}}}});
            if (ends) token(*eos);
        };
        around(single, "A", 0);
        around(pair, "A", 0);
        around(pair, "B", 1);
        return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
    }

    json byte_level() const {
        const std::string name = text("pre", "default");
        const auto pre = gguf_pre_type(name);
        if (!pre)
            fail("pre", gguf_pre_type_names(), name, "Open a folder with the model's own tokenizer.json and this file in it");
        return {
            {"added_tokens", added_tokens(tokens_)},
            {"normalizer", pre->normalizer},
            {"pre_tokenizer", pre->pre_tokenizer},
            {"post_processor", template_of(pre->begins)},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model",
             {{"type", "BPE"}, {"ignore_merges", pre->ignore_merges}, {"vocab", vocab_of(tokens_)}, {"merges", list("merges")}}}};
    }

    json merges_of_scores() const {
        const json& list_of = list("scores");
        if (list_of.size() != tokens_.size())
            fail("scores", "as many as tokens: " + std::to_string(tokens_.size()), std::to_string(list_of.size()));
        std::vector<double> scores;
        for (const json& score : list_of) {
            if (!score.is_number()) fail("scores", "numbers", score.type_name());
            scores.push_back(score.get<double>());
        }
        // As SentencePiece: a control token, a byte or what a user defined never comes about by joining others.
        std::vector<bool> joined;
        for (const std::int64_t type : types_) joined.push_back(type == normal);
        return headlight::text::merges_of_scores(tokens_, scores, joined);
    }

    json sentence_piece() const {
        json steps = json::array();
        if (flag("add_space_prefix", true)) steps.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
        steps.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}});
        const json decoder = {{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}};
        json model = {{"type", "BPE"},
                      {"fuse_unk", true},
                      {"byte_fallback", true},
                      {"vocab", vocab_of(tokens_)},
                      {"merges", merges_of_scores()}};
        const auto unk = id("unknown_token_id");
        if (unk) model["unk_token"] = tokens_[static_cast<std::size_t>(*unk)];
        return {{"added_tokens", added_tokens(tokens_)},
                {"normalizer", {{"type", "Sequence"}, {"normalizers", steps}}},
                {"pre_tokenizer", nullptr},
                {"post_processor", template_of(true)},
                {"decoder", {{"type", "Sequence"}, {"decoders", {decoder, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
                {"model", model}};
    }

    /// llama.cpp marks the beginning of a word, BERT the inside.
    json word_piece() const {
        std::vector<std::string> tokens;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const std::string& token = tokens_[i];
            if (token.starts_with(kSpace))
                tokens.push_back(token.substr(std::string_view(kSpace).size()));
            else
                tokens.push_back(types_[i] == normal && !token.empty() ? "##" + token : token);
        }
        const auto cls = first_of({"cls_token_id", "bos_token_id"});
        const auto sep = first_of({"seperator_token_id", "separator_token_id", "eos_token_id"});  // both spellings are found
        const auto unk = id("unknown_token_id");
        if (!cls || !sep || !unk) fail("cls_token_id", "ids of [CLS], [SEP] and [UNK]", "not all of them");
        const auto pair = [&](std::int64_t which) { return json::array({tokens[static_cast<std::size_t>(which)], which}); };
        return {{"added_tokens", added_tokens(tokens)},
                {"normalizer",
                 {{"type", "BertNormalizer"},
                  {"clean_text", true},
                  {"handle_chinese_chars", true},
                  {"lowercase", true},
                  {"strip_accents", nullptr}}},
                {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                {"post_processor", {{"type", "BertProcessing"}, {"cls", pair(*cls)}, {"sep", pair(*sep)}}},
                {"model",
                 {{"type", "WordPiece"},
                  {"unk_token", tokens[static_cast<std::size_t>(*unk)]},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", vocab_of(tokens)}}}};
    }

    const io::GgufFile& file_;
    const json& metadata_;
    std::vector<std::string> tokens_;
    std::vector<std::int64_t> types_;
};

}  // namespace

json json_from_gguf(const std::filesystem::path& path) { return GgufVocab(*io::GgufFile::open(path)).tokenizer(); }

}  // namespace headlight::text
