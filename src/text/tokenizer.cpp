// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/tokenizer.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "text/files/beside.h"
#include "text/tokenizer_impl.h"
#include "text/unicode/byte_alphabet.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <cstdio>

namespace headlight::text {
namespace {

/// Whether the stage or one inside it has this type.
bool uses(const nlohmann::json& stage, const char* type) {
    if (stage.is_array()) {
        return std::any_of(stage.begin(), stage.end(), [&](const auto& s) { return uses(s, type); });
    }
    if (!stage.is_object()) return false;
    if (const auto it = stage.find("type"); it != stage.end() && *it == type) return true;
    return std::any_of(stage.begin(), stage.end(), [&](const auto& s) { return s.is_structured() && uses(s, type); });
}

bool replaces_metaspace(const nlohmann::json& decoder) {
    return uses(decoder, "Metaspace") || (uses(decoder, "Replace") && decoder.dump().find("▁") != std::string::npos);
}

const std::string kNoToken;

}  // namespace

Tokenizer::Impl::Impl(const Field& root) : file(root.file()) {
    if (!root.json().is_object()) root.fail_expected("an object");
    model = make_model(root.at("model"));
    if (const auto f = root.find("normalizer")) {
        normalizer = make_normalizer(*f);
        byte_level = uses(f->json(), "ByteLevel");
    }
    if (const auto f = root.find("pre_tokenizer")) {
        pre_tokenizer = make_pre_tokenizer(*f);
        byte_level = byte_level || uses(f->json(), "ByteLevel");
    }
    if (const auto f = root.find("decoder")) metaspace = replaces_metaspace(f->json());
    added = std::make_unique<AddedTokens>(root.find("added_tokens"), model->vocab(), normalizer.get());
    vocab_size = std::max(model->vocab().size(), added->highest_id() + 1);
    view.token_of = [this](std::int32_t id) -> const std::string& { return token_of(id); };
    if (const auto f = root.find("post_processor")) post_processor = make_post_processor(*f, view);
}

const std::string& Tokenizer::Impl::token_of(std::int64_t id) const {
    if (id < 0 || id >= vocab_size) return kNoToken;
    if (id < model->vocab().size()) return model->vocab().token_of(static_cast<std::int32_t>(id));
    const AddedToken* t = added->find(static_cast<std::int32_t>(id));
    return t ? t->content : kNoToken;
}

void Tokenizer::Impl::encode_section(Section&& s, WordCache& words_seen, std::int32_t& word, Segment& out) const {
    s.spans = {{0, static_cast<std::uint32_t>(s.text.size())}};
    if (pre_tokenizer) pre_tokenizer->split(s);
    if (!model->reads_bytes()) s.write_out_bytes();
    std::vector<WordToken> split;
    const bool plain = s.align.empty();
    out.tokens.reserve(out.tokens.size() + s.text.size() / 3);
    for (const Span span : s.spans) {
        const std::string_view text = std::string_view(s.text).substr(span.begin, span.size());
        std::span<const WordToken> tokens = words_seen.find(text);
        if (tokens.empty()) {
            split.clear();
            model->split(text, s.byte_level, split);
            words_seen.insert(text, split);
            tokens = split;
        }
        for (const WordToken t : tokens) {
            std::uint32_t begin = span.begin + t.begin;
            std::uint32_t end = span.begin + t.end;
            if (plain) {
                if (utf8::is_continuation(s.text[begin])) begin = static_cast<std::uint32_t>(utf8::floor(s.text, begin));
                if (end < s.text.size() && utf8::is_continuation(s.text[end])) {
                    end = static_cast<std::uint32_t>(utf8::ceil(s.text, end));
                }
                out.tokens.push_back({t.id, s.origin + begin, s.origin + end, word});
            } else {
                out.tokens.push_back({t.id, s.align[begin].begin, s.align[end - 1].end, word});
            }
        }
        ++word;
    }
}

Segment Tokenizer::Impl::encode_sentence(std::string_view typed, std::int64_t sequence, WordCache& words_seen) const {
    Segment out;
    out.sequence = sequence;
    out.type_id = sequence;
    out.typed = typed;
    std::int32_t word = 0;
    const auto add_token = [&](const Section& s, const AddedTokens::Piece& p) {
        if (p.begin == p.end) return;
        const ByteRange range = s.typed(p.begin, p.end);
        const std::string_view text = std::string_view(s.text).substr(p.begin, p.end - p.begin);
        if (text != token_of(p.id)) out.spellings.emplace_back(out.tokens.size(), text);
        out.tokens.push_back({p.id, static_cast<std::uint32_t>(range.begin), static_cast<std::uint32_t>(range.end), word++});
    };
    Budget budget(typed.size(), file);
    const Section all = Section::whole(typed, 0, typed.size());
    for (const AddedTokens::Piece& piece : added->cut(typed, false)) {
        if (piece.id >= 0) {
            add_token(all, piece);
            continue;
        }
        Section section = Section::whole(typed, piece.begin, piece.end);
        section.budget = &budget;
        if (normalizer) normalizer->normalize(section);
        const auto parts = added->cut(section.text, true);
        if (parts.size() == 1 && parts[0].id < 0) {
            encode_section(std::move(section), words_seen, word, out);
            continue;
        }
        for (const AddedTokens::Piece& part : parts) {
            if (part.id >= 0) {
                add_token(section, part);
            } else {
                encode_section(section.slice(part.begin, part.end), words_seen, word, out);
            }
        }
    }
    return out;
}

Encoding Tokenizer::Impl::assemble(std::vector<Segment> segments, bool add_special_tokens) const {
    if (post_processor) post_processor->process(segments, add_special_tokens, view);

    std::size_t total = 0;
    for (const Segment& s : segments) total += s.tokens.size();
    Encoding e;
    e.ids.reserve(total);
    e.tokens.reserve(total);
    e.offsets.reserve(total);
    e.words.reserve(total);
    for (const Segment& s : segments) {
        for (const PlacedToken& t : s.tokens) {
            e.ids.push_back(t.id);
            e.tokens.push_back(token_of(t.id));
            e.offsets.push_back({t.begin, t.end});
            e.words.push_back(t.word);
        }
        e.type_ids.resize(e.ids.size(), s.type_id);
        e.special.resize(e.ids.size(), s.sequence < 0);
        e.sequence.resize(e.ids.size(), s.sequence);
    }
    return e;
}

Tokenizer::Tokenizer() = default;
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::from_json_file(const std::filesystem::path& path) {
    return from_json_text(io::read_text(path), path);
}

std::shared_ptr<const Tokenizer> Tokenizer::from_json_text(std::string_view text, const std::filesystem::path& file) {
    const nlohmann::json json = io::parse_json(text, file);
    std::shared_ptr<Tokenizer> t(new Tokenizer);
    t->impl_ = std::make_unique<Impl>(Field(json, file.string()));
    return t;
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& model) {
    std::error_code ignored;
    const bool is_file = std::filesystem::is_regular_file(model, ignored);
    const std::filesystem::path folder = is_file ? model.parent_path() : model;
    // A GGUF file holds its own tokenizer, whatever files are beside it.
    auto gguf = is_file ? io::gguf_file_of(model) : std::nullopt;
    const auto json_path = folder / "tokenizer.json";
    const bool own = !gguf && std::filesystem::exists(json_path, ignored);
    if (!own && !is_file) gguf = io::gguf_file_of(folder);
    std::string file = own ? json_path.string() : gguf ? gguf->string() : "";
    nlohmann::json json = own ? io::read_json(file) : gguf ? json_from_gguf(*gguf) : json_from_vocab_files(folder, file);
    if (own) apply_options_beside(json, folder);
    const bool spiece = json.is_object() && json.contains("normalizer") && uses(json["normalizer"], "SentencePiece");
    if (!gguf) add_tokens_beside(json, folder, spiece);
    std::shared_ptr<Tokenizer> t(new Tokenizer);
    t->impl_ = std::make_unique<Impl>(Field(json, file));
    if (own) return t;
    if (!gguf && std::filesystem::path(file).filename() == "source.spm") {
        const std::string of_target = (folder / "target.spm").string();
        nlohmann::json target = json_from_marian(of_target);
        add_tokens_beside(target, folder, true);
        t->impl_->target = std::make_unique<const Impl>(Field(target, of_target));
    }
    return t;
}

namespace {

void check_text(std::string_view text, const char* which) {
    if (text.size() > kLongestText) {
        throw Error({.problem = "The text is too long",
                     .item = which,
                     .expected = "at most " + std::to_string(kLongestText >> 20) + " MiB",
                     .found = bytes_text(text.size())});
    }
    if (const auto at = utf8::first_invalid(text)) {
        char byte[8];
        std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(text[*at]));
        throw Error({.problem = "The text is not valid UTF-8",
                     .item = which,
                     .expected = "UTF-8",
                     .found = std::string("byte ") + byte + " at offset " + std::to_string(*at)});
    }
}

}  // namespace

Encoding Tokenizer::encode(std::string_view text, std::optional<std::string_view> pair, bool add_special_tokens) const {
    check_text(text, pair ? "sentence A" : "the text");
    if (pair) check_text(*pair, "sentence B");
    std::vector<Segment> segments;
    {
        // Two threads at once: one has the shared cache, the other starts with an empty one instead of waiting.
        std::unique_lock lock(impl_->cache_mutex, std::try_to_lock);
        std::optional<WordCache> own;
        if (!lock.owns_lock()) own.emplace();
        WordCache& cache = own ? *own : impl_->cache;
        segments.push_back(impl_->encode_sentence(text, 0, cache));
        if (pair && !impl_->target) segments.push_back(impl_->encode_sentence(*pair, 1, cache));
    }
    if (pair && impl_->target) {
        WordCache fresh;
        segments.push_back(impl_->target->encode_sentence(*pair, 1, fresh));
    }
    return impl_->assemble(std::move(segments), add_special_tokens);
}

Encoding Tokenizer::encode_ids(const std::vector<std::int64_t>& ids, bool add_special_tokens) const {
    std::vector<Segment> segments(1);
    segments[0].sequence = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0 || ids[i] >= impl_->vocab_size || impl_->token_of(ids[i]).empty()) {
            throw Error({.problem = "No such token",
                         .item = "token " + std::to_string(i),
                         .expected = "an id from 0 to " + std::to_string(impl_->vocab_size - 1) + " that has a string",
                         .found = std::to_string(ids[i])});
        }
        segments[0].tokens.push_back({static_cast<std::int32_t>(ids[i]), 0, 0, static_cast<std::int32_t>(i)});
    }
    return impl_->assemble(std::move(segments), add_special_tokens);
}

std::int64_t Tokenizer::vocab_size() const noexcept { return impl_->vocab_size; }

std::optional<std::int64_t> Tokenizer::id_of(std::string_view token) const {
    if (const AddedToken* t = impl_->added->find(token)) return t->id;
    if (const auto id = impl_->model->vocab().id_of(token)) return *id;
    return std::nullopt;
}

const std::string& Tokenizer::token_of(std::int64_t id) const { return impl_->token_of(id); }

bool Tokenizer::is_special(std::int64_t id) const {
    if (id < 0 || id >= impl_->vocab_size) return false;
    const AddedToken* t = impl_->added->find(static_cast<std::int32_t>(id));
    return t && t->special;
}

std::string Tokenizer::bytes_of(std::int64_t id) const {
    const std::string& token = impl_->token_of(id);
    if (id >= 0 && id < impl_->vocab_size && impl_->added->find(static_cast<std::int32_t>(id))) return token;
    if (impl_->byte_level) return byte_alphabet::decode(token).value_or(token);
    if (impl_->model->byte_fallback() && token.size() == 6 && token.starts_with("<0x") && token.ends_with(">")) {
        return std::string(1, static_cast<char>(std::strtol(token.c_str() + 3, nullptr, 16)));
    }
    const std::string mark = impl_->model->continuation();
    if (!mark.empty() && token.size() > mark.size() && token.starts_with(mark)) return token.substr(mark.size());
    if (!impl_->metaspace) return token;
    static const std::string kMetaspace = "▁";
    std::string out = token;
    for (std::size_t at = out.find(kMetaspace); at != out.npos; at = out.find(kMetaspace, at + 1)) {
        out.replace(at, kMetaspace.size(), " ");
    }
    return out;
}

std::optional<std::int64_t> Tokenizer::mask_id() const {
    for (const char* name : {"[MASK]", "<mask>"}) {
        if (const auto id = id_of(name)) return id;
    }
    return std::nullopt;
}

std::string Tokenizer::description() const {
    std::string name = impl_->model->name();
    if (impl_->byte_level) name = "byte-level " + name;
    return name + ", " + std::to_string(impl_->vocab_size) + " entries";
}

}  // namespace headlight::text
