// SPDX-License-Identifier: GPL-3.0-or-later
// spiece.model, tokenizer.model, sentencepiece.bpe.model and spm.model: SentencePiece's own file, a protocol buffer
// (sentencepiece_model.proto), turned into the content of a tokenizer.json whose stages do what SentencePiece does.
#include "headlight/base/error.h"
#include "headlight/io/foreign.h"
#include "headlight/io/python_json.h"
#include "text/files/merges_of_scores.h"
#include "text/files/piece_type.h"
#include "text/files/sentence_piece_layout.h"
#include "text/tokenizer_impl.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace headlight::text {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// TrainerSpec.ModelType
enum ModelType : std::uint64_t { unigram = 1, bpe };

/// The fields of one message: number, and a number or bytes.
class Message {
public:
    Message(std::string_view bytes, const fs::path& file) : bytes_(bytes), file_(file) {}

    /// False at the end.
    bool next() {
        if (at_ == bytes_.size()) return false;
        const std::uint64_t key = varint();
        field_ = key >> 3;
        content_ = {};
        number_ = 0;
        switch (key & 7) {
            case 0: number_ = varint(); return true;
            case 1: content_ = take(8); return true;
            case 2: content_ = take(varint()); return true;
            case 5: content_ = take(4); return true;
            default: fail("a field of another kind");
        }
    }
    std::uint64_t field() const { return field_; }
    std::uint64_t number() const { return number_; }
    bool flag() const { return number_ != 0; }
    std::string_view content() const { return content_; }
    float real() const {
        float value = 0;
        if (content_.size() != sizeof value) fail("a number of another size");
        std::memcpy(&value, content_.data(), sizeof value);
        return value;
    }
    [[noreturn]] void fail(const std::string& found) const {
        throw Error(ErrorFacts{.problem = "Not a SentencePiece model, or a damaged one",
                               .file = file_.string(),
                               .item = "byte " + std::to_string(at_) + " of a message",
                               .expected = "a protocol buffer",
                               .found = found});
    }

private:
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at_ == bytes_.size()) fail("its end");
            const auto c = static_cast<unsigned char>(bytes_[at_++]);
            value |= std::uint64_t{c & 0x7fu} << shift;
            if (c < 0x80) return value;
        }
        fail("a number without end");
    }
    std::string_view take(std::uint64_t size) {
        if (size > bytes_.size() - at_) fail("its end");
        const std::string_view part = bytes_.substr(at_, size);
        at_ += size;
        return part;
    }

    std::string_view bytes_;
    const fs::path& file_;
    std::size_t at_ = 0;
    std::uint64_t field_ = 0, number_ = 0;
    std::string_view content_;
};

/// The fields that are used, with the format's defaults.
struct Spec {
    std::vector<std::string> pieces;
    std::vector<double> scores;
    std::vector<std::uint64_t> types;
    std::uint64_t model = unigram;
    bool byte_fallback = false, as_suffix = false;
    bool trained = false, normalizes = false;  ///< trainer_spec and normalizer_spec were found (they follow the vocabulary)
    json normalizer = {{"type", "SentencePiece"}};
};

void read_piece(Message message, Spec& spec, const fs::path& file) {
    std::string piece;
    double score = 0;
    std::uint64_t type = normal;
    while (message.next()) {
        if (message.field() == 1) piece = message.content();
        if (message.field() == 2) score = message.real();
        if (message.field() == 3) type = message.number();
    }
    if (utf8::first_invalid(piece) || piece.empty() || !std::isfinite(score))
        throw Error(ErrorFacts{.problem = "A vocabulary entry cannot be read",
                               .file = file.string(),
                               .item = "piece " + std::to_string(spec.pieces.size()),
                               .expected = "UTF-8 and a finite score"});
    spec.pieces.push_back(std::move(piece));
    spec.scores.push_back(type == normal ? score : 0.0);
    spec.types.push_back(type);
}

Spec read_spec(const fs::path& file) {
    const std::string bytes = io::read_text(file);
    io::refuse_foreign(bytes, file);
    Spec spec;
    Message root(bytes, file);
    while (root.next()) {
        Message part(root.content(), file);
        if (root.field() == 1) read_piece(part, spec, file);
        spec.trained |= root.field() == 2;
        spec.normalizes |= root.field() == 3;
        if (root.field() == 2)
            while (part.next()) {
                if (part.field() == 3) spec.model = part.number();
                if (part.field() == 24) spec.as_suffix = part.flag();
                if (part.field() == 35) spec.byte_fallback = part.flag();
            }
        if (root.field() == 3)
            while (part.next()) {
                if (part.field() == 2 && !part.content().empty())
                    spec.normalizer["precompiled_charsmap"] =
                        json::binary(std::vector<std::uint8_t>(part.content().begin(), part.content().end()));
                if (part.field() == 3) spec.normalizer["add_dummy_prefix"] = part.flag();
                if (part.field() == 4) spec.normalizer["remove_extra_whitespaces"] = part.flag();
                if (part.field() == 5) spec.normalizer["escape_whitespaces"] = part.flag();
            }
    }
    if (!spec.trained || !spec.normalizes) root.fail("its end before trainer_spec and normalizer_spec");
    spec.normalizer["treat_whitespace_as_suffix"] = spec.as_suffix;
    return spec;
}

/// tokenizer_config.json, and config.json's model_type where that does not say the class.
struct Habits {
    json config = json::object();
    std::string kind;  ///< "T5Tokenizer", "llama", in lower case
};

Habits habits_of(const fs::path& folder) {
    Habits habits;
    std::error_code ignored;
    const auto read = [&](const char* name) {
        const json found = fs::exists(folder / name, ignored) ? io::read_python_json(folder / name) : json::object();
        return found.is_object() ? found : json::object();
    };
    habits.config = read("tokenizer_config.json");
    const auto text = [](const json& from, const char* key) {
        const auto value = from.find(key);
        return value != from.end() && value->is_string() ? value->get<std::string>() : std::string();
    };
    habits.kind = text(habits.config, "tokenizer_class");
    if (habits.kind.empty() || habits.kind.starts_with("PreTrained")) habits.kind = text(read("config.json"), "model_type");
    std::ranges::transform(habits.kind, habits.kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return habits;
}

bool is_one_of(const std::string& kind, std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return kind.starts_with(name); });
}

class Converter {
public:
    /// `numbers`: the ids of the pieces, where a file beside it gives them (Marian).
    Converter(Spec spec, Habits habits, const fs::path& file, const json& numbers = {})
        : s_(std::move(spec)), h_(std::move(habits)), file_(file) {
        if (!numbers.is_null()) renumber_by(numbers);
        const auto field = [&](const char* key, const std::string& fallback) { return configured(key).value_or(fallback); };
        if (!layout_) {
            layout_ = sentence_piece_layout(h_.kind, field, whole_number("offset", 103));
            if (layout_) renumber();
        }
        for (std::size_t i = 0; i < s_.pieces.size(); ++i)
            if (!ids_.emplace(s_.pieces[i], i).second) fail("A vocabulary entry appears twice", s_.pieces[i]);
        if (s_.pieces.empty()) fail("The file has no vocabulary");
    }

    json tokenizer() const {
        // These classes renumber the pieces or split texts in ways that only their tokenizer.json describes.
        if (is_one_of(h_.kind, {"nllb", "barthez", "plbart", "xglm", "bigbird", "xlnet", "reformer", "m2m"}) ||
            (is_one_of(h_.kind, {"marian"}) && !numbered_))
            fail("SentencePiece files of this kind of tokenizer are not supported", h_.kind,
                 "Open a folder with the model's tokenizer.json");
        json added = added_tokens();
        json normalizer = s_.normalizer;
        json symbols = json::array();
        for (const auto& [piece, id] : ids_)
            if (s_.types[id] == user_defined) symbols.push_back(piece);
        normalizer["user_defined_symbols"] = symbols;
        normalizer["begins_after_added_tokens"] =
            is_one_of(h_.kind, {"t5", "mt5", "umt5", "xlmroberta", "xlm-roberta", "camembert", "mbart", "pegasus", "albert",
                                "debertav2", "deberta-v2"});
        if (is_one_of(h_.kind, {"debertav2", "deberta-v2"})) {
            if (flag("split_by_punct", false))
                fail("An option of this tokenizer is not supported", "split_by_punct",
                     "Open a folder with the model's tokenizer.json");
            if (flag("do_lower_case", false))
                normalizer = {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}, normalizer}}};
        }
        if (is_one_of(h_.kind, {"albert"})) normalizer = {{"type", "Sequence"}, {"normalizers", albert_steps(normalizer)}};
        return {{"added_tokens", added},
                {"normalizer", normalizer},
                {"pre_tokenizer", words_are_separate() ? metaspace() : json()},
                {"post_processor", post_processor()},
                {"decoder", metaspace()},
                {"model", model()}};
    }

private:
    [[noreturn]] void fail(const std::string& problem, const std::string& item = {}, const std::string& hint = {}) const {
        throw Error(ErrorFacts{.problem = problem, .file = file_.string(), .item = item, .hint = hint});
    }

    static json metaspace() {
        return {{"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", "never"}, {"split", true}};
    }

    /// No piece reaches over the beginning of a word: then the words may be cut one by one.
    bool words_are_separate() const {
        const auto reaches_over = [](const std::string& piece) { return piece.find(kSpace, 1) != std::string::npos; };
        return !s_.as_suffix && std::ranges::none_of(s_.pieces, reaches_over);
    }

    std::optional<std::size_t> id_of(const std::string& piece) const {
        const auto found = ids_.find(piece);
        return found == ids_.end() ? std::nullopt : std::optional(found->second);
    }

    json added_tokens() const {
        std::map<std::size_t, json> tokens;
        for (std::size_t i = 0; i < s_.pieces.size(); ++i) {
            const bool special = s_.types[i] == control || s_.types[i] == unknown;
            if (!special && s_.types[i] != user_defined) continue;
            tokens[i] = {{"id", i}, {"content", s_.pieces[i]}, {"normalized", !special}, {"special", special}};
        }
        if (layout_)
            for (const auto& token : layout_->back)
                if (token.takes_space) tokens[*id_of(token.content)]["lstrip"] = true;
        if (is_one_of(h_.kind, {"t5", "mt5", "umt5"})) {
            const std::int64_t count = whole_number("extra_ids", 100);
            for (std::int64_t i = 0; i < std::clamp<std::int64_t>(count, 0, 1000); ++i) {
                const std::string content = "<extra_id_" + std::to_string(count - 1 - i) + ">";
                if (id_of(content)) continue;
                const std::size_t id = s_.pieces.size() + static_cast<std::size_t>(i);
                tokens[id] = {{"id", id}, {"content", content}, {"normalized", false}, {"special", true}};
            }
        }
        // Marian's names of the language to translate into stand before the text: they are taken away before anything else is
        // done.
        for (std::size_t i = 0; numbered_ && i < s_.pieces.size(); ++i)
            if (s_.pieces[i].starts_with(">>") && s_.pieces[i].ends_with("<<") && s_.pieces[i].size() > 4)
                tokens[i] = {{"id", i}, {"content", s_.pieces[i]}, {"normalized", false}, {"special", false}};
        json list = json::array();
        for (auto& [id, token] : tokens) list.push_back(std::move(token));
        return list;
    }

    bool flag(const char* key, bool fallback) const {
        const auto value = h_.config.find(key);
        return value != h_.config.end() && value->is_boolean() ? value->get<bool>() : fallback;
    }

    std::int64_t whole_number(const char* key, std::int64_t fallback) const {
        const auto value = h_.config.find(key);
        return std::clamp<std::int64_t>(
            value != h_.config.end() && value->is_number_integer() ? value->get<std::int64_t>() : fallback, 0, 1000);
    }

    /// A token's name as tokenizer_config.json has it, plain or with its flags.
    std::optional<std::string> configured(const char* key) const {
        const auto value = h_.config.find(key);
        if (value == h_.config.end()) return std::nullopt;
        if (value->is_string()) return value->get<std::string>();
        const auto content = value->is_object() ? value->find("content") : value->end();
        if (value->is_object() && content != value->end() && content->is_string()) return content->get<std::string>();
        return std::nullopt;
    }

    /// Puts the pieces where the model has them.
    void renumber() {
        if (s_.pieces.size() < layout_->skip) fail("The vocabulary is too short for this kind of tokenizer", h_.kind);
        for (std::size_t i = 0; i < layout_->skip; ++i)
            if (s_.types[i] == normal) fail("An ordinary entry where this kind of tokenizer has a special one", s_.pieces[i]);
        Spec out = s_;
        out.pieces.clear(), out.scores.clear(), out.types.clear();
        const auto add = [&](const SentencePieceLayout::Token& token) {
            out.pieces.push_back(token.content);
            out.scores.push_back(0);
            out.types.push_back(token.type == SentencePieceLayout::Type::unknown ? unknown : control);
        };
        for (const auto& token : layout_->front) add(token);
        for (std::size_t i = layout_->skip; i < s_.pieces.size(); ++i) {
            out.pieces.push_back(s_.pieces[i]);
            out.scores.push_back(s_.scores[i]);
            out.types.push_back(s_.types[i]);
        }
        for (const auto& token : layout_->back)
            if (std::ranges::find(s_.pieces, token.content) == s_.pieces.end()) add(token);
        s_ = std::move(out);
    }

    /// The pieces of this text's own file at the ids that vocab.json has for those of both texts; the others match nothing.
    void renumber_by(const json& numbers) {
        if (!numbers.is_object() || numbers.empty()) fail("The vocabulary beside it is not a map of pieces to ids", "vocab.json");
        if (flag("separate_vocabs", false))
            fail("An option of this tokenizer is not supported", "separate_vocabs",
                 "Models with a vocabulary for each language have two embeddings, which are not read");
        Spec out = s_;
        const std::size_t size = numbers.size();
        out.pieces.assign(size, {});
        out.scores.assign(size, 0);
        out.types.assign(size, unused);
        for (const auto& [piece, id] : numbers.items()) {
            const std::int64_t at = id.is_number_integer() ? id.get<std::int64_t>() : -1;
            if (at < 0 || at >= static_cast<std::int64_t>(size) || !out.pieces[static_cast<std::size_t>(at)].empty() ||
                piece.empty())
                fail("The ids of the vocabulary beside it are not 0, 1, 2 …", "vocab.json: " + piece);
            out.pieces[static_cast<std::size_t>(at)] = piece;
        }
        const auto special = [&](const char* key, const char* fallback, std::uint64_t type) {
            const std::string name = configured(key).value_or(fallback);
            if (!numbers.contains(name)) fail("The vocabulary beside it lacks a token", "vocab.json: " + name);
            out.types[numbers.at(name).get<std::size_t>()] = type;
            return name;
        };
        const std::string end = special("eos_token", "</s>", control);
        special("pad_token", "<pad>", control);
        special("unk_token", "<unk>", unknown);
        for (std::size_t i = 0; i < s_.pieces.size(); ++i) {
            if (s_.types[i] != normal) continue;
            if (!numbers.contains(s_.pieces[i])) fail("The vocabulary beside it lacks a piece of this file", s_.pieces[i]);
            const std::size_t id = numbers.at(s_.pieces[i]).get<std::size_t>();
            out.scores[id] = s_.scores[i];
            out.types[id] = normal;
        }
        s_ = std::move(out);
        numbered_ = true;
        layout_ = SentencePieceLayout{};
        layout_->single = {"$A", end};
        layout_->pair = {"$A", "$B", end};
    }

    json framed(const SentencePieceLayout& layout) const {
        json special = json::object();
        const auto list_of = [&](const std::vector<std::string>& parts) {
            json list = json::array();
            int type = 0;
            for (const std::string& part : parts) {
                if (part == "$B" && layout.pair_types) type = 1;
                if (part == "$A" || part == "$B") {
                    list.push_back({{"Sequence", {{"id", part.substr(1)}, {"type_id", type}}}});
                    continue;
                }
                const auto id = id_of(part);
                if (!id) fail("The vocabulary lacks a token that this kind of tokenizer puts around a text", part);
                special[part] = {{"id", part}, {"ids", {*id}}, {"tokens", {part}}};
                list.push_back({{"SpecialToken", {{"id", part}, {"type_id", type}}}});
            }
            return list;
        };
        const json single = list_of(layout.single), pair = list_of(layout.pair);
        return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
    }

    /// AlbertConverter of transformers.
    json albert_steps(const json& own) const {
        json steps = json::array();
        for (const char* quotes : {"``", "''"})
            steps.push_back({{"type", "Replace"}, {"pattern", {{"String", quotes}}}, {"content", "\""}});
        if (!flag("keep_accents", false)) steps.push_back({{"type", "NFKD"}}), steps.push_back({{"type", "StripAccents"}});
        if (flag("do_lower_case", true)) steps.push_back({{"type", "Lowercase"}});
        steps.push_back(own);
        return steps;
    }

    json post_processor() const {
        if (layout_) return framed(*layout_);
        const bool albert = is_one_of(h_.kind, {"albert"}), t5 = is_one_of(h_.kind, {"t5", "mt5", "umt5"});
        const bool spiece = file_.filename() == "spiece.model";
        const bool unsaid = h_.kind.empty();
        const std::string first = albert ? "[CLS]" : name_of("bos_token", "<s>"),
                          last = albert ? "[SEP]" : name_of("eos_token", "</s>");
        const bool begins = albert || flag("add_bos_token", !t5 && !(unsaid && spiece)),
                   ends = albert || flag("add_eos_token", t5 || (unsaid && spiece));
        json special = json::object(), single = json::array(), pair = json::array();
        const auto token = [&](json& list, const std::string& name, int type) {
            const auto id = id_of(name);
            if (!id) return;
            special[name] = {{"id", name}, {"ids", {*id}}, {"tokens", {name}}};
            list.push_back({{"SpecialToken", {{"id", name}, {"type_id", type}}}});
        };
        const auto around = [&](json& list, const char* sequence, int type, bool inner) {
            if (begins && !inner) token(list, first, type);
            list.push_back({{"Sequence", {{"id", sequence}, {"type_id", type}}}});
            if (ends) token(list, last, type);
        };
        around(single, "A", 0, false);
        around(pair, "A", 0, false);
        around(pair, "B", t5 ? 0 : 1, albert);
        if (special.empty()) return nullptr;
        return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", special}};
    }

    std::string name_of(const char* key, const std::string& fallback) const {
        if (!h_.config.contains(key)) return id_of(fallback) ? fallback : fallback == "<s>" ? "<bos>" : "<eos>";
        return configured(key).value_or(fallback);
    }

    json model() const {
        const auto unk = std::ranges::find(s_.types, std::uint64_t{unknown});
        if (unk == s_.types.end()) fail("The vocabulary has no unknown token");
        const auto unk_id = static_cast<std::size_t>(unk - s_.types.begin());
        if (s_.model == unigram) {
            json vocab = json::array(), unmatched = json::array();
            for (std::size_t i = 0; i < s_.pieces.size(); ++i) {
                vocab.push_back({s_.pieces[i], s_.scores[i]});
                if (s_.types[i] != normal) unmatched.push_back(i);
            }
            return {{"type", "Unigram"},
                    {"unk_id", unk_id},
                    {"byte_fallback", s_.byte_fallback},
                    {"vocab", vocab},
                    {"unmatched", unmatched}};
        }
        if (s_.model != bpe)
            fail("This kind of SentencePiece model is not supported", "model_type " + std::to_string(s_.model),
                 "Only unigram and BPE are");
        json vocab = json::object();
        std::vector<bool> joined;
        for (std::size_t i = 0; i < s_.pieces.size(); ++i) {
            vocab[s_.pieces[i]] = i;
            joined.push_back(s_.types[i] == normal);
        }
        return {{"type", "BPE"},    {"unk_token", s_.pieces[unk_id]},
                {"fuse_unk", true}, {"byte_fallback", s_.byte_fallback},
                {"vocab", vocab},   {"merges", merges_of_scores(s_.pieces, s_.scores, joined)}};
    }

    Spec s_;
    Habits h_;
    fs::path file_;
    std::optional<SentencePieceLayout> layout_;  ///< where ids are not places in the file
    std::map<std::string, std::size_t> ids_;
    bool numbered_ = false;  ///< by a vocabulary beside the file
};

}  // namespace

json json_from_sentence_piece(const fs::path& file) {
    return Converter(read_spec(file), habits_of(file.parent_path()), file).tokenizer();
}

json json_from_marian(const fs::path& file) {
    return Converter(read_spec(file), habits_of(file.parent_path()), file, io::read_json(file.parent_path() / "vocab.json"))
        .tokenizer();
}

}  // namespace headlight::text
