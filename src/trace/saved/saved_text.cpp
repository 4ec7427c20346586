// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/saved/saved_text.h"

#include "headlight/base/error.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

namespace headlight::trace {
namespace {

using nlohmann::json;

constexpr std::string_view kByteSpace = "Ġ", kMetaspace = "▁", kPiece = "##";
constexpr std::int64_t kMaxId = 1 << 26;

enum class Style { plain, byte_level, metaspace, pieces };

Style style_of(const std::vector<std::string>& tokens) {
    for (const std::string& token : tokens) {
        if (token.find(kByteSpace) != std::string::npos) return Style::byte_level;
        if (token.find(kMetaspace) != std::string::npos) return Style::metaspace;
        if (token.starts_with(kPiece) && token.size() > kPiece.size()) return Style::pieces;
    }
    return Style::plain;
}

/// "[CLS]", "<s>", "<|endoftext|>"; not a byte, "<0x0A>".
bool looks_special(const std::string& token) {
    if (token.size() < 3 || token.starts_with("<0x")) return false;
    const bool angles = token.front() == '<' && token.back() == '>';
    const bool brackets =
        token.front() == '[' && token.back() == ']' &&
        std::ranges::all_of(token.substr(1, token.size() - 2), [](unsigned char c) { return std::isupper(c) || c == '_'; });
    return angles || brackets;
}

/// Whether the token opens a word behind the one before it.
bool opens_word(const std::string& token, const std::string& before, Style style) {
    const auto punctuation = [](const std::string& t) {
        return !t.empty() && std::ispunct(static_cast<unsigned char>(t.front()));
    };
    switch (style) {
        case Style::byte_level: return token.starts_with(kByteSpace) || punctuation(token) || punctuation(before);
        case Style::metaspace: return token.starts_with(kMetaspace) || punctuation(token) || punctuation(before);
        case Style::pieces: return !token.starts_with(kPiece);
        case Style::plain: break;
    }
    return true;
}

/// The range of each token in the text, in order; {0, 0} for one that is not found.
void find_offsets(text::Encoding& e, const text::Tokenizer& tokenizer, const std::string& text) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < e.tokens.size(); ++i) {
        if (e.special[i]) continue;
        std::string piece = tokenizer.bytes_of(e.ids[i]);
        piece.erase(0, std::min(piece.find_first_not_of(' '), piece.size()));
        const std::size_t at = piece.empty() ? std::string::npos : text.find(piece, from);
        if (at == std::string::npos) continue;
        e.offsets[i] = {static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + piece.size())};
        from = at + piece.size();
    }
}

[[noreturn]] void fail_field(const std::filesystem::path& file, const std::string& field, const std::string& expected) {
    throw Error(ErrorFacts{.problem = "The tokens of a saved trace cannot be read",
                           .file = file.string(),
                           .item = "tokens." + field,
                           .expected = expected});
}

template <class T>
std::vector<T> list(const json& root, const char* field, std::size_t size, const std::filesystem::path& file, T missing) {
    if (!root.contains(field)) return std::vector<T>(size, missing);
    const json& values = root.at(field);
    if (!values.is_array() || (size > 0 && values.size() != size)) fail_field(file, field, "a list of " + std::to_string(size));
    std::vector<T> out;
    for (const json& value : values) {
        try {
            out.push_back(value.is_null() ? missing : value.get<T>());
        } catch (const json::exception&) {
            fail_field(file, field, "one kind of values");
        }
    }
    return out;
}

}  // namespace

SavedText text_of(const TokenStrings& in, const std::filesystem::path& file) {
    SavedText out;
    text::Encoding& e = out.encoding;
    const Style style = style_of(in.tokens);
    std::map<std::string, std::int64_t> ids;
    std::int64_t word = -1;
    for (std::size_t i = 0; i < in.tokens.size(); ++i) {
        const std::string& token = in.tokens[i];
        const bool special = in.special ? (*in.special)[i] : looks_special(token);
        const bool second = in.sentence_b_start >= 0 && static_cast<std::int64_t>(i) >= in.sentence_b_start;
        const std::int64_t next = static_cast<std::int64_t>(ids.size());
        e.ids.push_back(in.ids ? (*in.ids)[i] : ids.emplace(token, next).first->second);
        e.tokens.push_back(token);
        e.special.push_back(special);
        e.type_ids.push_back(second);
        e.sequence.push_back(special ? -1 : second);
        const bool first = i == 0 || e.special[i - 1] || (second && static_cast<std::int64_t>(i) == in.sentence_b_start);
        if (!special && (first || opens_word(token, in.tokens[i - 1], style))) ++word;
        e.words.push_back(special ? -1 : word);
        e.offsets.emplace_back();
    }
    const auto tokenizer = tokenizer_of(e, file);
    for (std::size_t i = 0; i < e.tokens.size(); ++i) {
        if (e.special[i]) continue;
        std::string& to = e.sequence[i] == 1 ? out.pair : out.text;
        const bool gap = !to.empty() && (style == Style::plain || style == Style::pieces) && opens_word(e.tokens[i], "", style);
        if (gap) to += ' ';
        to += tokenizer->bytes_of(e.ids[i]);
    }
    if (!in.text.empty() && in.sentence_b_start < 0) out.text = in.text;
    find_offsets(e, *tokenizer, out.text);
    return out;
}

SavedText text_of_trace(const std::string& tokens_json, std::string text, std::string pair, const std::filesystem::path& file) {
    const json root = io::parse_json(tokens_json, file);
    if (!root.is_object() || !root.contains("ids")) fail_field(file, "ids", "a list of numbers");
    SavedText out{.encoding = {}, .text = std::move(text), .pair = std::move(pair)};
    text::Encoding& e = out.encoding;
    e.ids = list<std::int64_t>(root, "ids", 0, file, -1);
    const std::size_t n = e.ids.size();
    for (const std::int64_t id : e.ids)
        if (id < 0 || id > kMaxId) fail_field(file, "ids", "numbers from 0 to " + std::to_string(kMaxId));
    e.tokens = list<std::string>(root, "tokens", n, file, "");
    e.words = list<std::int64_t>(root, "words", n, file, -1);
    e.special = list<bool>(root, "special", n, file, false);
    e.sequence = list<std::int64_t>(root, "sequences", n, file, root.contains("sequences") ? -1 : 0);
    e.type_ids.assign(n, 0);
    const auto second = static_cast<std::size_t>(std::ranges::find(e.sequence, 1) - e.sequence.begin());
    for (std::size_t i = 0; i < n; ++i) {
        if (!root.contains("sequences") && e.special[i]) e.sequence[i] = -1;
        e.type_ids[i] = i >= second;
    }
    for (const auto& range : list<std::vector<std::int64_t>>(root, "offsets", n, file, {0, 0})) {
        if (range.size() != 2 || range[0] < 0 || range[1] < range[0]) fail_field(file, "offsets", "pairs [begin, end]");
        e.offsets.push_back({range[0], range[1]});
    }
    return out;
}

std::shared_ptr<const text::Tokenizer> tokenizer_of(const text::Encoding& e, const std::filesystem::path& file,
                                                    const std::string& unknown) {
    std::map<std::int64_t, std::string> strings;
    json added = json::array();
    for (std::size_t i = 0; i < e.tokens.size(); ++i) {
        const auto [entry, fresh] = strings.emplace(e.ids[i], e.tokens[i]);
        if (!fresh && entry->second != e.tokens[i])
            throw Error(ErrorFacts{.problem = "One id stands for two tokens",
                                   .file = file.string(),
                                   .item = "ids, token " + std::to_string(i),
                                   .expected = "\"" + entry->second + "\" for " + std::to_string(e.ids[i]),
                                   .found = "\"" + e.tokens[i] + "\""});
        if (fresh && e.special[i])
            added.push_back({{"id", e.ids[i]},
                             {"content", e.tokens[i]},
                             {"special", true},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false}});
    }
    json vocab = json::object();
    for (const auto& [id, token] : strings) vocab[token] = id;
    const Style style = style_of(e.tokens);
    json root = {{"added_tokens", added},
                 {"model",
                  {{"type", "WordPiece"},
                   {"vocab", vocab},
                   {"unk_token", unknown.empty() ? strings.begin()->second : unknown},
                   {"continuing_subword_prefix", style == Style::pieces ? kPiece : ""}}}};
    if (style == Style::byte_level)
        root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
    if (style == Style::metaspace)
        root["decoder"] = {{"type", "Metaspace"}, {"replacement", kMetaspace}, {"add_prefix_space", true}};
    return text::Tokenizer::from_json_text(root.dump(-1, ' ', false, json::error_handler_t::replace), file);
}

}  // namespace headlight::trace
