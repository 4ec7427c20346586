// SPDX-License-Identifier: GPL-3.0-or-later
// Byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909): the pair of neighbours with the lowest rank is joined
// until no pair is in the list of merges.
#include "text/models/merge_table.h"
#include "text/models/model.h"
#include "text/unicode/byte_alphabet.h"
#include "text/unicode/utf8.h"

#include <array>
#include <cstdio>
#include <queue>

namespace headlight::text {
namespace {

/// A part of the word while it is joined: a doubly linked list in an array, so that a join is O(1).
struct Symbol {
    std::int32_t id = 0;
    std::int32_t previous = -1;
    std::int32_t next = -1;
    std::uint32_t size = 0;  ///< bytes; 0: joined into the one before
};

struct Candidate {
    std::uint32_t rank = 0;
    std::int32_t at = 0;
    std::int32_t id = 0;
    bool operator>(const Candidate& o) const noexcept { return rank != o.rank ? rank > o.rank : at > o.at; }
};

class Bpe final : public Model {
public:
    explicit Bpe(const Field& f);

    void split(std::string_view word, bool bytes, std::vector<WordToken>& out) const override;
    bool reads_bytes() const noexcept override { return whole_alphabet_ && prefix_.empty() && suffix_.empty(); }
    const Vocab& vocab() const noexcept override { return vocab_; }
    std::string name() const override { return "BPE"; }
    std::string continuation() const override { return prefix_; }
    bool byte_fallback() const noexcept override { return byte_fallback_; }

private:
    void read_merges(const Field& merges);
    void add_merge(const Field& where, std::string_view a, std::string_view b, std::uint32_t rank);
    void start_from_characters(std::string_view word, std::vector<Symbol>& symbols) const;
    void join(std::vector<Symbol>& symbols) const;
    std::optional<std::int32_t> whole_word(std::string_view word, bool bytes) const;

    Vocab vocab_;
    MergeTable merges_;
    std::string prefix_;
    std::string suffix_;
    std::optional<std::int32_t> unknown_;
    bool fuse_unknown_;
    bool byte_fallback_;
    bool ignore_merges_;
    bool whole_alphabet_ = true;                    ///< the vocabulary has all 256 characters of the byte-level alphabet
    std::array<std::int32_t, 256> byte_ids_{};      ///< id of each byte's character
    std::array<std::int32_t, 256> fallback_ids_{};  ///< id of "<0xE2>", -1 where there is none
};

Bpe::Bpe(const Field& f)
    : vocab_(f.at("vocab")),
      merges_(f.at("merges").json().size()),
      prefix_(f.string_or("continuing_subword_prefix", "")),
      suffix_(f.string_or("end_of_word_suffix", "")),
      fuse_unknown_(f.boolean_or("fuse_unk", false)),
      byte_fallback_(f.boolean_or("byte_fallback", false)),
      ignore_merges_(f.boolean_or("ignore_merges", false)) {
    // A byte of the affix would count as a byte of the text, and offsets would reach after the word.
    if (byte_fallback_ && !(prefix_.empty() && suffix_.empty()))
        f.at("byte_fallback")
            .fail("This cannot be used together with continuing_subword_prefix or end_of_word_suffix", "false", "true");
    if (const auto unk = f.find("unk_token")) {
        unknown_ = vocab_.id_of(unk->string());
        if (!unknown_) unk->fail("The unknown token is not in the vocabulary", "", unk->string());
    }
    for (unsigned b = 0; b < 256; ++b) {
        const auto id = vocab_.id_of(byte_alphabet::of(static_cast<unsigned char>(b)));
        whole_alphabet_ = whole_alphabet_ && id.has_value();
        byte_ids_[b] = id.value_or(-1);
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", b);
        fallback_ids_[b] = vocab_.id_of(name).value_or(-1);
    }
    read_merges(f.at("merges"));
}

void Bpe::read_merges(const Field& merges) {
    std::uint32_t rank = 0;
    for (const Field& line : merges.items()) {
        const nlohmann::json& value = line.json();
        if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
            add_merge(line, value[0].get_ref<const std::string&>(), value[1].get_ref<const std::string&>(), rank++);
            continue;
        }
        if (!value.is_string()) line.fail_expected("\"a b\" or [\"a\", \"b\"]");
        const std::string& text = value.get_ref<const std::string&>();
        if (text.starts_with("#version")) continue;
        const std::size_t space = text.find(' ');
        if (space == text.npos || text.find(' ', space + 1) != text.npos) line.fail_expected("two parts with one space");
        const std::string_view view = text;
        add_merge(line, view.substr(0, space), view.substr(space + 1), rank++);
    }
}

void Bpe::add_merge(const Field& where, std::string_view a, std::string_view b, std::uint32_t rank) {
    const auto id_of = [&](std::string_view token) {
        const auto id = vocab_.id_of(token);
        if (!id) where.fail("A merge names a token that is not in the vocabulary", "", std::string(token));
        return *id;
    };
    const std::int32_t left = id_of(a);
    const std::int32_t right = id_of(b);
    if (b.size() < prefix_.size()) where.fail_expected("a second part that begins with \"" + prefix_ + "\"");
    const std::int32_t joined = id_of(std::string(a) + std::string(b.substr(prefix_.size())));
    merges_.set(left, right, {rank, joined});
}

std::optional<std::int32_t> Bpe::whole_word(std::string_view word, bool bytes) const {
    if (!bytes) return vocab_.id_of(word);
    if (word.size() > vocab_.longest()) return std::nullopt;
    std::string written;
    for (const char b : word) written += byte_alphabet::of(static_cast<unsigned char>(b));
    return vocab_.id_of(written);
}

void Bpe::start_from_characters(std::string_view word, std::vector<Symbol>& symbols) const {
    std::uint32_t unknown_size = 0;  // of an unknown part that is not yet added
    const auto add = [&](std::int32_t id, std::uint32_t size) { symbols.push_back({id, -1, -1, size}); };
    const auto flush = [&] {
        if (unknown_size > 0) add(*unknown_, unknown_size);
        unknown_size = 0;
    };
    std::string part;
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t size = utf8::length(word[at]);
        const bool first = at == 0;
        const bool last = at + size == word.size();
        part = word.substr(at, size);
        if (!first) part.insert(0, prefix_);
        if (last) part += suffix_;
        at += size;
        if (const auto id = vocab_.id_of(part)) {
            flush();
            add(*id, static_cast<std::uint32_t>(size));
            continue;
        }
        if (byte_fallback_) {
            bool all = true;
            for (const char b : part) all = all && fallback_ids_[static_cast<unsigned char>(b)] >= 0;
            if (all) {
                for (const char b : part) add(fallback_ids_[static_cast<unsigned char>(b)], 1);
                continue;
            }
        }
        if (!unknown_) continue;  // dropped, as the reference does
        if (!fuse_unknown_) flush();
        unknown_size += static_cast<std::uint32_t>(size);
    }
    flush();
}

void Bpe::join(std::vector<Symbol>& symbols) const {
    const auto count = static_cast<std::int32_t>(symbols.size());
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto offer = [&](std::int32_t left, std::int32_t right) {
        const auto l = static_cast<std::size_t>(left);
        const Merge m = merges_.find(symbols[l].id, symbols[static_cast<std::size_t>(right)].id);
        if (m.id >= 0) queue.push({m.rank, left, m.id});
    };
    for (std::int32_t i = 0; i < count; ++i) {
        symbols[static_cast<std::size_t>(i)].previous = i - 1;
        symbols[static_cast<std::size_t>(i)].next = i + 1 < count ? i + 1 : -1;
        if (i > 0) offer(i - 1, i);
    }
    while (!queue.empty()) {
        const Candidate top = queue.top();
        queue.pop();
        Symbol& left = symbols[static_cast<std::size_t>(top.at)];
        if (left.size == 0 || left.next < 0) continue;
        Symbol& right = symbols[static_cast<std::size_t>(left.next)];
        if (merges_.find(left.id, right.id).id != top.id) continue;  // the pair has changed since
        left.id = top.id;
        left.size += right.size;
        left.next = right.next;
        right.size = 0;
        if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = top.at;
        if (left.previous >= 0) offer(left.previous, top.at);
        if (left.next >= 0) offer(top.at, left.next);
    }
}

void Bpe::split(std::string_view word, bool bytes, std::vector<WordToken>& out) const {
    if (word.empty()) return;
    if (ignore_merges_) {
        if (const auto id = whole_word(word, bytes)) {
            out.push_back({*id, 0, static_cast<std::uint32_t>(word.size())});
            return;
        }
    }
    std::vector<Symbol> symbols;
    symbols.reserve(word.size());
    if (bytes) {
        for (const char b : word) symbols.push_back({byte_ids_[static_cast<unsigned char>(b)], -1, -1, 1});
    } else {
        start_from_characters(word, symbols);
    }
    join(symbols);
    std::uint32_t at = 0;
    for (const Symbol& s : symbols) {
        if (s.size == 0) continue;
        out.push_back({s.id, at, at + s.size});
        at += s.size;
    }
}

}  // namespace

ModelPtr make_bpe(const Field& f) { return std::make_unique<Bpe>(f); }

}  // namespace headlight::text
