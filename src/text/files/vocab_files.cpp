// SPDX-License-Identifier: GPL-3.0-or-later
// Tokenizers without a tokenizer.json: their older files are turned into one, as the converters of transformers do.
#include "headlight/base/error.h"
#include "headlight/io/python_json.h"
#include "text/tokenizer_impl.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <map>

namespace headlight::text {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        lines.push_back(std::move(line));
        at = end + 1;
    }
    return lines;
}

/// An unreadable folder counts as empty; whoever reads a file reports the reason.
bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

/// tokenizer_config.json with what special_tokens_map.json adds; empty without the files.
json read_config(const fs::path& folder) {
    json config = json::object();
    for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
        if (!is_there(folder / name)) continue;
        const json more = io::read_python_json(folder / name);
        if (!more.is_object()) Field(more, (folder / name).string()).fail_expected("an object");
        config.update(more);
    }
    return config;
}

/// "[CLS]" or {"content": "[CLS]", …}.
std::string special_name(const Field& config, const char* key, const std::string& fallback) {
    const auto f = config.find(key);
    if (!f) return fallback;
    return f->json().is_object() ? f->at("content").string() : f->string();
}

/// Added tokens for the named ones that the vocabulary has, in the order of their ids. Where a configuration describes
/// a token in full, its flags count: RoBERTa's <mask> takes the space before it along.
json special_tokens(const json& vocab, const Field& config, std::initializer_list<std::pair<const char*, const char*>> keys) {
    std::map<std::int64_t, json> found;
    for (const auto& [key, fallback] : keys) {
        const std::string name = special_name(config, key, fallback);
        const auto it = vocab.find(name);
        if (it == vocab.end() || !it->is_number_integer()) continue;
        json token = {{"id", *it}, {"content", name}, {"normalized", false}, {"special", true}};
        if (const auto f = config.find(key); f && f->json().is_object()) {
            for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
                token[flag] = f->boolean_or(flag, false);
            }
        }
        found.emplace(it->get<std::int64_t>(), std::move(token));
    }
    json out = json::array();
    for (auto& [id, token] : found) out.push_back(std::move(token));
    return out;
}

json pair_of(const json& vocab, const std::string& name, const std::string& file) {
    const auto it = vocab.find(name);
    if (it == vocab.end()) {
        throw Error({.problem = "A special token is not in the vocabulary", .file = file, .item = name});
    }
    return json::array({name, *it});
}

/// Tokenizers of transformers whose vocab.txt holds the pieces of WordPiece.
constexpr std::string_view kWordPieceClasses[] = {"BertTokenizer",
                                                  "DistilBertTokenizer",
                                                  "ElectraTokenizer",
                                                  "ConvBertTokenizer",
                                                  "MobileBertTokenizer",
                                                  "SqueezeBertTokenizer",
                                                  "LayoutLMTokenizer",
                                                  "LxmertTokenizer",
                                                  "RetriBertTokenizer",
                                                  "SplinterTokenizer",
                                                  "NomicBertTokenizer",
                                                  "DPRReaderTokenizer",
                                                  "DPRQuestionEncoderTokenizer",
                                                  "DPRContextEncoderTokenizer",
                                                  "PreTrainedTokenizer",
                                                  "TokenizersBackend"};

/// Error for a class that reads a vocab.txt of another kind: read as WordPiece it would give nonsense.
void require_word_piece(const std::string& name, const std::string& file) {
    std::string_view stem = name;
    if (stem.ends_with("Fast")) stem.remove_suffix(4);
    if (name.empty() || std::ranges::find(kWordPieceClasses, stem) != std::end(kWordPieceClasses)) return;
    throw Error(
        {.problem = "This vocabulary is not that of a WordPiece tokenizer",
         .file = file,
         .item = "tokenizer_class of tokenizer_config.json",
         .expected = "BertTokenizer, or another of WordPiece; EsmTokenizer",
         .found = name,
         .hint = "Give the folder a tokenizer.json (transformers: tokenizer.save_pretrained()), or run token ids (--ids)"});
}

/// ESM's: every entry is a token of its own wherever it stands in a text; what is left between blanks is unknown.
json residues_json(const Field& config, const json& vocab, const std::string& file) {
    const std::string cls = special_name(config, "cls_token", "<cls>"), eos = special_name(config, "eos_token", "<eos>");
    const auto is_special = [&](const std::string& entry) { return entry.starts_with('<') && entry.ends_with('>'); };
    json added = json::array();
    std::vector<std::string> by_id(vocab.size());
    for (const auto& [entry, id] : vocab.items())
        if (id.get<std::size_t>() < by_id.size()) by_id[id.get<std::size_t>()] = entry;
    for (std::size_t id = 0; id < by_id.size(); ++id)
        if (!by_id[id].empty())
            added.push_back({{"id", id}, {"content", by_id[id]}, {"normalized", false}, {"special", is_special(by_id[id])}});
    const auto token = [](const std::string& name) { return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; };
    const auto part = [](const char* which) { return json{{"Sequence", {{"id", which}, {"type_id", 0}}}}; };
    const auto entry = [&](const std::string& name) {
        return json{{"id", name}, {"ids", {pair_of(vocab, name, file)[1]}}, {"tokens", {name}}};
    };
    return {{"added_tokens", added},
            {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
            {"post_processor",
             {{"type", "TemplateProcessing"},
              {"single", {token(cls), part("A"), token(eos)}},
              {"pair", {token(cls), part("A"), token(eos), part("B"), token(eos)}},
              {"special_tokens", {{cls, entry(cls)}, {eos, entry(eos)}}}}},
            {"model", {{"type", "WordLevel"}, {"unk_token", special_name(config, "unk_token", "<unk>")}, {"vocab", vocab}}}};
}

json word_piece_json(const fs::path& folder, const std::string& file) {
    const json config_json = read_config(folder);
    const Field config(config_json, (folder / "tokenizer_config.json").string());
    const std::string kind = config.string_or("tokenizer_class", "");
    const bool residues = kind == "EsmTokenizer";
    if (!residues) require_word_piece(kind, file);
    json vocab = json::object();
    std::int64_t id = 0;
    for (std::string line : lines_of(io::read_text(file))) {
        line.erase(line.find_last_not_of(" \t\r\f\v") + 1);
        if (utf8::first_invalid(line)) {
            throw Error({.problem = "A vocabulary entry is not valid UTF-8",
                         .file = file,
                         .item = "line " + std::to_string(id + 1),
                         .hint = "Save the file in UTF-8"});
        }
        vocab[line] = id++;  // of a repeated line the last one counts, as in transformers
    }
    if (residues) return residues_json(config, vocab, file);
    const std::string cls = special_name(config, "cls_token", "[CLS]");
    const std::string sep = special_name(config, "sep_token", "[SEP]");
    const bool lower = config.boolean_or("do_lower_case", true);
    json normalizer = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", config.boolean_or("tokenize_chinese_chars", true)},
                       {"lowercase", lower},
                       {"strip_accents", nullptr}};
    if (const auto strip = config.find("strip_accents")) normalizer["strip_accents"] = strip->boolean();
    return {
        {"added_tokens", special_tokens(vocab, config,
                                        {{"pad_token", "[PAD]"},
                                         {"unk_token", "[UNK]"},
                                         {"cls_token", "[CLS]"},
                                         {"sep_token", "[SEP]"},
                                         {"mask_token", "[MASK]"}})},
        {"normalizer", normalizer},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"post_processor", {{"type", "BertProcessing"}, {"cls", pair_of(vocab, cls, file)}, {"sep", pair_of(vocab, sep, file)}}},
        {"model",
         {{"type", "WordPiece"},
          {"unk_token", special_name(config, "unk_token", "[UNK]")},
          {"continuing_subword_prefix", "##"},
          {"max_input_chars_per_word", 100},
          {"vocab", vocab}}}};
}

json byte_level_bpe_json(const fs::path& folder, const std::string& file) {
    const json config_json = read_config(folder);
    const Field config(config_json, (folder / "tokenizer_config.json").string());
    const json vocab = io::read_json(file);
    if (!vocab.is_object()) Field(vocab, file).fail_expected("an object of strings and ids");
    json merges = json::array();
    for (std::string& line : lines_of(io::read_text(folder / "merges.txt"))) {
        if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::move(line));
    }
    const std::string cls_name = config.string_or("tokenizer_class", "GPT2Tokenizer");
    const bool roberta = cls_name.starts_with("Roberta") || cls_name.starts_with("Bart");
    if (!roberta && !cls_name.starts_with("GPT2") && !cls_name.starts_with("PreTrainedTokenizer")) {
        config.at("tokenizer_class")
            .fail("vocab.json and merges.txt of this tokenizer cannot be read without a tokenizer.json",
                  "GPT2Tokenizer, RobertaTokenizer or BartTokenizer", cls_name);
    }
    const bool prefix = config.boolean_or("add_prefix_space", false);
    json post = {{"type", "ByteLevel"}, {"trim_offsets", false}, {"add_prefix_space", prefix}};
    json added;
    if (roberta) {
        post = {{"type", "RobertaProcessing"},
                {"cls", pair_of(vocab, special_name(config, "cls_token", "<s>"), file)},
                {"sep", pair_of(vocab, special_name(config, "sep_token", "</s>"), file)},
                {"trim_offsets", true},
                {"add_prefix_space", prefix}};
        added = special_tokens(vocab, config,
                               {{"bos_token", "<s>"},
                                {"eos_token", "</s>"},
                                {"unk_token", "<unk>"},
                                {"cls_token", "<s>"},
                                {"sep_token", "</s>"},
                                {"pad_token", "<pad>"},
                                {"mask_token", "<mask>"}});
    } else {
        added = special_tokens(vocab, config,
                               {{"bos_token", "<|endoftext|>"},
                                {"eos_token", "<|endoftext|>"},
                                {"unk_token", "<|endoftext|>"},
                                {"pad_token", "<|endoftext|>"}});
    }
    return {{"added_tokens", added},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", prefix}}},
            {"post_processor", post},
            {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

}  // namespace

json json_from_vocab_files(const fs::path& folder, std::string& file) {
    if (is_there(folder / "vocab.txt")) {
        file = (folder / "vocab.txt").string();
        return word_piece_json(folder, file);
    }
    if (is_there(folder / "vocab.json") && is_there(folder / "merges.txt")) {
        file = (folder / "vocab.json").string();
        return byte_level_bpe_json(folder, file);
    }
    if (is_there(folder / "tekken.json")) {
        file = (folder / "tekken.json").string();
        return json_from_tekken(file);
    }
    for (const char* name : {"spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"}) {
        if (!is_there(folder / name)) continue;
        file = (folder / name).string();
        return json_from_sentence_piece(file);
    }
    if (is_there(folder / "source.spm")) {  // Marian: two SentencePiece models whose pieces vocab.json numbers
        for (const char* name : {"target.spm", "vocab.json"})
            if (!is_there(folder / name))
                throw Error({.problem = "A tokenizer of two SentencePiece models is incomplete",
                             .file = (folder / name).string(),
                             .expected = "source.spm, target.spm and vocab.json",
                             .found = "no " + std::string(name)});
        file = (folder / "source.spm").string();
        return json_from_marian(file);
    }
    throw Error(
        {.problem = "There is no tokenizer in this folder",
         .file = folder.string(),
         .expected =
             "tokenizer.json, or vocab.txt, or vocab.json and merges.txt, or tekken.json, or a SentencePiece model (spiece.model, sentencepiece.bpe.model, spm.model, tokenizer.model; source.spm, target.spm and vocab.json)",
         .found = "none of them"});
}

}  // namespace headlight::text
