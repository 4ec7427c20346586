// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/store/text_store.h"

#include "corpus/accumulate/archive.h"
#include "headlight/base/error.h"
#include "headlight/corpus/syntax/word_index.h"
#include "headlight/io/hash.h"
#include "headlight/io/json_file.h"

#include <algorithm>
#include <limits>
#include <span>

namespace headlight::corpus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kTextsOfPart = 4096;
constexpr std::size_t kBytesOfPart = std::size_t{16} << 20;
constexpr std::uint8_t kSpecial = 0x80;

/// The fields besides the text itself: one JSON document per text.
std::string meta_of(const Text& text) {
    json words = json::array();
    for (const Word& w : text.words) {
        json& word = words.emplace_back(json{w.form, w.upos, w.xpos, w.relation, w.head, w.begin, w.end, w.shares_span});
        // Later fields may be left out at the end.
        const bool has_arcs = !w.enhanced.empty();
        if (!w.features.empty() || w.sentence > 0 || has_arcs) word.push_back(w.features);
        if (w.sentence > 0 || has_arcs) word.push_back(w.sentence);
        if (!has_arcs) continue;
        json& arcs = word.emplace_back(json::array());
        for (const EnhancedArc& arc : w.enhanced) arcs.push_back({arc.head, arc.relation});
    }
    json meta = {{"id", text.id}, {"document", text.document}};
    if (!text.fields.empty()) meta["fields"] = text.fields;
    if (!text.words.empty()) meta["words"] = std::move(words);
    if (!text.mentions.empty()) {
        json& mentions = meta["mentions"] = json::array();
        for (const Mention& m : text.mentions) mentions.push_back({m.chain, m.begin, m.end, m.head_begin, m.head_end});
        meta["task"] = text.task;
        if (!text.pair.empty()) meta["pair"] = text.pair;
    }
    return meta.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr const char* kRecreate = "Recreate the store from the original texts";

[[noreturn]] void throw_damaged(const fs::path& file, const std::string& item) {
    throw Error({.problem = "The texts of the store are damaged", .file = file.string(), .item = item, .hint = kRecreate});
}

bool inside(const Text& text, std::int64_t begin, std::int64_t end) {
    return begin >= 0 && begin <= end && end <= std::ssize(text.text);
}

/// Words lie in the text, and their heads in their sentence.
void check_words(const Text& text, const fs::path& file) {
    const auto size = static_cast<std::int32_t>(text.words.size());
    for (std::int32_t first = 0, last = 0; first < size; first = last) {
        last = sentence_of(text.words, first).second;
        const auto of_sentence = [&](std::int32_t head) { return head >= first && head < last; };
        for (std::int32_t w = first; w < last; ++w) {
            const Word& word = text.words[static_cast<std::size_t>(w)];
            if (!inside(text, word.begin, word.end) || (word.head != -1 && !of_sentence(word.head)) ||
                !std::ranges::all_of(word.enhanced, of_sentence, &EnhancedArc::head))
                throw_damaged(file, "words");
        }
    }
}

void check_mentions(const Text& text, const fs::path& file) {
    for (const Mention& m : text.mentions)
        if (!inside(text, m.begin, m.end) || !inside(text, m.head_begin, m.head_end)) throw_damaged(file, "mentions");
    if (text.task != MentionTask::chains && text.mentions.size() != 3) throw_damaged(file, "mentions");
}

Text text_of(std::string content, const std::string& meta_text, const fs::path& file) {
    const json meta = io::parse_json(meta_text, file);
    Text text{.id = meta.at("id"), .document = meta.at("document"), .text = std::move(content), .words = {}, .fields = {}};
    if (meta.contains("fields")) text.fields = meta["fields"].get<std::map<std::string, std::string>>();
    if (meta.contains("words"))
        for (const json& w : meta["words"]) {
            text.words.push_back({w.at(0), w.at(1), w.at(2), w.at(3), w.at(4), w.at(5), w.at(6), w.at(7),
                                  w.size() > 8 ? w.at(8).get<std::string>() : std::string(),
                                  w.size() > 9 ? w.at(9).get<std::int32_t>() : 0});
            if (w.size() > 10)
                for (const json& arc : w.at(10)) text.words.back().enhanced.push_back({arc.at(0), arc.at(1)});
        }
    check_words(text, file);
    if (meta.contains("mentions")) {
        for (const json& m : meta["mentions"]) text.mentions.push_back({m.at(0), m.at(1), m.at(2), m.at(3), m.at(4)});
        const int task = meta.at("task");
        if (task < 0 || task >= kMentionTasks) throw_damaged(file, "task of mentions");
        text.task = static_cast<MentionTask>(task);
        text.pair = meta.value("pair", std::string());
        check_mentions(text, file);
    }
    return text;
}

/// Ends that grow from 0 to `size`.
void check_ends(const std::vector<std::int64_t>& ends, std::int64_t size, const fs::path& file, const std::string& item) {
    std::int64_t last = 0;
    for (const std::int64_t end : ends)
        if (end < std::exchange(last, end)) throw_damaged(file, item);
    if (last != size) throw_damaged(file, item);
}

bool has_tokens(const headlight::text::Encoding& encoding) {
    return std::ranges::find(encoding.special, false) != encoding.special.end();
}

bool same_text(const Text& a, const Text& b) { return a.text == b.text && meta_of(a) == meta_of(b); }

/// Of a text's words and mentions; empty: it has none.
std::string annotation_hash(const Text& text) {
    if (text.words.empty() && text.mentions.empty()) return {};
    const std::string meta = meta_of(text);
    return io::sha256_hex(std::as_bytes(std::span(meta)));
}

std::uint64_t chunk_hash(const Chunk& chunk, const std::string& annotations) {
    std::string all;
    for (const std::int64_t number : {chunk.number, chunk.text, chunk.first_byte, chunk.first_query})
        all += std::to_string(number) + ' ';
    for (const std::int64_t id : chunk.encoding.ids) all += std::to_string(id) + ' ';
    all += annotations;
    return std::stoull(io::sha256_hex(std::as_bytes(std::span(all))).substr(0, 16), nullptr, 16);
}

/// Collects texts, and writes a part once there are enough.
class PartWriter {
public:
    PartWriter(const fs::path& store, Manifest& manifest, const headlight::text::Tokenizer& tokenizer)
        : store_(store), manifest_(manifest), chunker_(tokenizer, manifest.options.context, manifest.options.stride) {
        fs::create_directories(store / "texts");
    }
    /// False: the tokenizer gives no tokens.
    bool add(Text&& text) {
        std::vector<Chunk> chunks = chunker_.chunks(text);
        if (!has_tokens(chunks.front().encoding)) return false;
        manifest_.treebank = manifest_.treebank || !text.words.empty();
        manifest_.mentions = manifest_.mentions || !text.mentions.empty();
        for (TextNote& each : text.notes) manifest_.note(std::move(each));
        text.notes.clear();
        for (Chunk& chunk : chunks) {
            chunk.number = std::ssize(part_.chunks);
            chunk.text = std::ssize(part_.texts);
            part_.chunks.push_back(std::move(chunk));
        }
        bytes_ += text.text.size();
        part_.texts.push_back(std::move(text));
        if (std::ssize(part_.texts) >= kTextsOfPart || bytes_ >= kBytesOfPart) write();
        return true;
    }
    void write() {
        if (!part_.texts.empty()) {
            StorePart entry{.file = part_name(manifest_.parts.size()),
                            .sha256 = {},
                            .texts = std::ssize(part_.texts),
                            .chunks = std::ssize(part_.chunks),
                            .tokens = part_.tokens()};
            arrays_of(part_).write(store_ / entry.file, {});
            entry.sha256 = io::sha256_file(store_ / entry.file);
            const std::int64_t texts = manifest_.texts(), chunks = manifest_.chunks();
            std::string annotations;
            std::int64_t of_text = -1;
            for (Chunk& chunk : part_.chunks) {
                if (std::exchange(of_text, chunk.text) != chunk.text)
                    annotations = annotation_hash(part_.texts[static_cast<std::size_t>(chunk.text)]);
                chunk.number += chunks;
                chunk.text += texts;
                const auto block = static_cast<std::size_t>(chunk.number / manifest_.options.block);
                manifest_.block_hashes.resize(std::max(manifest_.block_hashes.size(), block + 1));
                manifest_.block_hashes[block] += chunk_hash(chunk, annotations);
            }
            manifest_.parts.push_back(std::move(entry));
        }
        write_manifest(store_, manifest_);
        part_ = {};
        bytes_ = 0;
    }

private:
    const fs::path& store_;
    Manifest& manifest_;
    Chunker chunker_;
    TextPart part_;
    std::size_t bytes_ = 0;
};

}  // namespace

std::int64_t TextPart::tokens() const noexcept {
    std::int64_t sum = 0;
    for (const Chunk& chunk : chunks) sum += chunk.encoding.size();
    return sum;
}

std::uint64_t chunk_hash(const Chunk& chunk, const Text& text) { return chunk_hash(chunk, annotation_hash(text)); }

Arrays arrays_of(const TextPart& part) {
    Arrays out;
    std::vector<std::string> contents, metas;
    for (const Text& text : part.texts) {
        contents.push_back(text.text);
        metas.push_back(meta_of(text));
    }
    Archive texts(out);
    texts.strings("texts.bytes", "texts.bytes_ends", contents);
    texts.strings("texts.meta", "texts.meta_ends", metas);
    std::vector<std::int64_t> text, begin, end, ends;
    std::vector<std::int32_t> query, ids, first, last, words;
    std::vector<std::uint8_t> types;
    for (const Chunk& chunk : part.chunks) {
        text.push_back(chunk.text);
        begin.push_back(chunk.first_byte);
        end.push_back(chunk.end_byte);
        query.push_back(static_cast<std::int32_t>(chunk.first_query));
        const auto& e = chunk.encoding;
        for (std::size_t i = 0; i < e.ids.size(); ++i) {
            ids.push_back(static_cast<std::int32_t>(e.ids[i]));
            first.push_back(static_cast<std::int32_t>(e.offsets[i].begin));
            last.push_back(static_cast<std::int32_t>(e.offsets[i].end));
            words.push_back(static_cast<std::int32_t>(e.words[i]));
            types.push_back(static_cast<std::uint8_t>((e.type_ids[i] & 0x7F) | (e.special[i] ? kSpecial : 0)));
        }
        ends.push_back(std::ssize(ids));
    }
    const std::int64_t chunks = std::ssize(text), tokens = std::ssize(ids);
    out.put<std::int64_t>("chunks.text", {chunks}, text);
    out.put<std::int64_t>("chunks.first_byte", {chunks}, begin);
    out.put<std::int64_t>("chunks.end_byte", {chunks}, end);
    out.put<std::int32_t>("chunks.first_query", {chunks}, query);
    out.put<std::int64_t>("chunks.tokens_end", {chunks}, ends);
    out.put<std::int32_t>("tokens.id", {tokens}, ids);
    out.put<std::int32_t>("tokens.begin", {tokens}, first);
    out.put<std::int32_t>("tokens.end", {tokens}, last);
    out.put<std::int32_t>("tokens.word", {tokens}, words);
    out.put<std::uint8_t>("tokens.type", {tokens}, types);
    return out;
}

TextPart part_of(const Arrays& in, const fs::path& file) {
    TextPart part;
    std::vector<std::string> contents, metas;
    Archive texts(in);
    texts.strings("texts.bytes", "texts.bytes_ends", contents);
    texts.strings("texts.meta", "texts.meta_ends", metas);
    if (contents.size() != metas.size()) throw_damaged(file, "texts.meta");
    try {
        for (std::size_t i = 0; i < contents.size(); ++i) part.texts.push_back(text_of(std::move(contents[i]), metas[i], file));
    } catch (const json::exception& error) {
        throw_damaged(file, "texts.meta, " + io::plain_reason(error));
    }
    const auto text = in.get<std::int64_t>("chunks.text", {-1});
    const std::int64_t chunks = std::ssize(text);
    const auto begin = in.get<std::int64_t>("chunks.first_byte", {chunks}),
               end = in.get<std::int64_t>("chunks.end_byte", {chunks}),
               ends = in.get<std::int64_t>("chunks.tokens_end", {chunks});
    const auto query = in.get<std::int32_t>("chunks.first_query", {chunks});
    const auto ids = in.get_within<std::int32_t>("tokens.id", {-1}, 0, std::numeric_limits<std::int32_t>::max());
    const std::int64_t tokens = std::ssize(ids);
    const auto first = in.get<std::int32_t>("tokens.begin", {tokens}), last = in.get<std::int32_t>("tokens.end", {tokens}),
               words = in.get<std::int32_t>("tokens.word", {tokens});
    const auto types = in.get<std::uint8_t>("tokens.type", {tokens});
    check_ends(ends, tokens, file, "chunks.tokens_end");
    std::size_t at = 0;
    for (std::size_t c = 0; c < text.size(); ++c) {
        if (text[c] < 0 || text[c] >= std::ssize(part.texts)) throw_damaged(file, "chunks.text");
        const auto bytes = std::ssize(part.texts[static_cast<std::size_t>(text[c])].text);
        const std::int64_t size = ends[c] - static_cast<std::int64_t>(at);
        if (begin[c] < 0 || end[c] < begin[c] || end[c] > bytes) throw_damaged(file, "chunks.first_byte");
        if (size < 1 || query[c] < 0 || query[c] >= size) throw_damaged(file, "chunks.first_query");
        Chunk chunk{.number = static_cast<std::int64_t>(c),
                    .text = text[c],
                    .first_byte = begin[c],
                    .end_byte = end[c],
                    .first_query = query[c],
                    .begins = c == 0 || text[c] != text[c - 1],
                    .whole = (c == 0 || text[c] != text[c - 1]) && (c + 1 == text.size() || text[c] != text[c + 1]),
                    .encoding = {}};
        for (; at < static_cast<std::size_t>(ends[c]); ++at) {
            const bool special = types[at] & kSpecial;
            if (first[at] < 0 || last[at] < first[at] || (!special && last[at] > end[c] - begin[c]))
                throw_damaged(file, "tokens.begin");
            auto& e = chunk.encoding;
            e.ids.push_back(ids[at]);
            e.offsets.push_back({first[at], last[at]});
            e.type_ids.push_back(types[at] & 0x7F);
            e.special.push_back(special);
            e.words.push_back(words[at]);
            e.sequence.push_back(special ? -1 : 0);
        }
        part.chunks.push_back(std::move(chunk));
    }
    return part;
}

TextStore::TextStore(fs::path store, const Manifest& manifest, const headlight::text::Tokenizer* tokenizer)
    : store_(std::move(store)), first_text_{0}, first_chunk_{0}, tokenizer_(tokenizer) {
    files_ = manifest.parts;
    checked_.resize(files_.size());
    for (const StorePart& part : files_) {
        first_text_.push_back(first_text_.back() + part.texts);
        first_chunk_.push_back(first_chunk_.back() + part.chunks);
    }
}

const TextPart& TextStore::part(std::size_t index) {
    if (read_ == index) return part_;
    const fs::path file = store_ / files_[index].file;
    read_ = SIZE_MAX;
    if (!checked_[index] && io::sha256_file(file) != files_[index].sha256) throw_damaged(file, "SHA-256");
    checked_[index] = true;
    part_ = part_of(Arrays::read(file, kRecreate), file);
    if (std::ssize(part_.texts) != first_text_[index + 1] - first_text_[index] ||
        std::ssize(part_.chunks) != first_chunk_[index + 1] - first_chunk_[index])
        throw_damaged(file, "number of texts");
    for (Chunk& chunk : part_.chunks) {
        chunk.number += first_chunk_[index];
        chunk.text += first_text_[index];
        if (tokenizer_)
            for (const std::int64_t id : chunk.encoding.ids) chunk.encoding.tokens.push_back(tokenizer_->token_of(id));
    }
    read_ = index;
    return part_;
}

namespace {

/// The part that holds a number; Error beyond the last.
std::size_t part_with(const std::vector<std::int64_t>& first, std::int64_t number) {
    if (number < 0 || number >= first.back())
        throw Error({.problem = "The store has no text of that number",
                     .expected = "0 to " + std::to_string(first.back() - 1),
                     .found = std::to_string(number)});
    return static_cast<std::size_t>(std::ranges::upper_bound(first, number) - first.begin()) - 1;
}

}  // namespace

const Text& TextStore::text(std::int64_t number) {
    const std::size_t index = part_with(first_text_, number);
    return part(index).texts[static_cast<std::size_t>(number - first_text_[index])];
}

const Chunk& TextStore::chunk(std::int64_t number) {
    const std::size_t index = part_with(first_chunk_, number);
    return part(index).chunks[static_cast<std::size_t>(number - first_chunk_[index])];
}

const Chunk& TextStore::chunk_with(std::int64_t number, std::initializer_list<std::int64_t> positions) {
    const Chunk& of = chunk(number);
    for (const std::int64_t position : positions)
        if (position < 0 || position >= of.encoding.size())
            throw Error({.problem = "The store's texts and results do not fit",
                         .file = store_.string(),
                         .item = "chunk " + std::to_string(number),
                         .expected = "a position of its " + std::to_string(of.encoding.size()) + " tokens",
                         .found = std::to_string(position)});
    return of;
}

std::vector<std::int64_t> TextStore::text_of_chunk() {
    std::vector<std::int64_t> out;
    for (std::size_t p = 0; p < files_.size(); ++p) {
        const Arrays in = Arrays::read(store_ / files_[p].file, kRecreate);
        const std::int64_t chunks = first_chunk_[p + 1] - first_chunk_[p], texts = first_text_[p + 1] - first_text_[p];
        for (const std::int64_t text : in.get_within<std::int64_t>("chunks.text", {chunks}, 0, texts - 1))
            out.push_back(text + first_text_[p]);
    }
    return out;
}

namespace {

/// Whether the texts to append begin with all texts of the last addition.
bool given_again(TextStore& there, const Manifest& manifest, const headlight::text::Tokenizer& tokenizer, const AddTexts& add,
                 const CancelToken& cancel) {
    if (manifest.additions.empty()) return false;
    std::int64_t number = manifest.additions.back().first_text;
    bool same = true;
    const auto take = [&](Text&& text) {
        cancel.throw_if_cancelled();
        if (number >= there.texts()) return false;
        if (same_text(there.text(number), text))
            ++number;
        else
            same = !has_tokens(tokenizer.encode(text.text));
        return same;
    };
    read_texts(
        add.from, manifest.options.reading, take, [](const LeftOut&) {}, cancel);
    return same && number == there.texts();
}

}  // namespace

std::int64_t add_texts(const fs::path& store, Manifest& manifest, const headlight::text::Tokenizer& tokenizer,
                       const AddTexts& add, const CancelToken& cancel, const Progress& progress) {
    TextStore there(store, manifest);
    const std::int64_t known = there.texts(), known_left_out = manifest.left_out_texts();
    const std::int64_t limit = add.limit > 0 ? add.limit : INT64_MAX;
    if (!add.append)
        manifest.additions.assign(1, {});
    else if (!given_again(there, manifest, tokenizer, add, cancel))
        manifest.additions.push_back({.from = {}, .first_text = known, .left_out_before = known_left_out});
    Addition& addition = manifest.additions.back();
    addition.from = add.from.string();
    addition.complete = false;
    PartWriter writer(store, manifest, tokenizer);
    std::int64_t number = addition.first_text, left_out = addition.left_out_before;
    const auto fail = [&](const std::string& expected, const std::string& found) {
        throw Error({.problem = "The store holds different texts",
                     .file = store.string(),
                     .item = "text " + std::to_string(number),
                     .expected = expected,
                     .found = found,
                     .hint = "Omit --texts to resume the store's texts, or add --append to add these after them"});
    };
    const auto leave_out = [&](LeftOut one) {
        if (left_out++ >= known_left_out) manifest.leave_out(std::move(one));
    };
    const auto take = [&](Text&& text) {
        cancel.throw_if_cancelled();
        if (number >= limit) return false;
        LeftOut nothing{text.id, "no tokens"};
        bool taken = true;
        if (number >= known) {
            taken = writer.add(std::move(text));
        } else if (const Text& same = there.text(number); !same_text(same, text)) {
            taken = has_tokens(tokenizer.encode(text.text));
            if (taken) fail(same.id, same.id == text.id ? "the same name with another text, words or fields" : text.id);
        }
        if (!taken) leave_out(std::move(nothing));
        number += taken ? 1 : 0;
        if (progress && number % 100 == 0) progress({"Reading texts: " + std::to_string(number), "text", 0, 0});
        return number < limit;
    };
    read_texts(add.from, manifest.options.reading, take, leave_out, cancel);
    if (number < known && !add.append) fail(std::to_string(known) + " texts", std::to_string(number));
    addition.complete = true;
    writer.write();
    return std::max<std::int64_t>(0, number - known);
}

}  // namespace headlight::corpus
