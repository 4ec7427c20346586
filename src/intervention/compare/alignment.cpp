// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/alignment.h"

#include "headlight/text/alignment.h"

#include <algorithm>
#include <string_view>

namespace headlight::intervention {
namespace {

std::vector<TextUnit> single_units(std::int64_t count) {
    std::vector<TextUnit> units;
    for (std::int64_t p = 0; p < count; ++p) units.push_back({p, 1});
    return units;
}

/// A text and the bytes of it that each token stands for, without white space at their ends; empty: none.
struct Spelling {
    std::string text;
    std::vector<text::ByteRange> of_token;
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

Spelling spelling_of(const trace::Trace& trace, const text::Encoding& encoding) {
    Spelling spelling;
    const bool typed = trace.config().stack == model::Stack::whole && !encoding.pixels;
    if (typed) spelling.text = trace.text_a() + "\n" + trace.text_b();
    const auto second = static_cast<std::int64_t>(trace.text_a().size()) + 1;
    for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
        text::ByteRange range{};
        if (!typed) {
            // Offsets of a source or a target are in its own text.
            const std::string piece = encoding.special[i] ? std::string() : trace.tokenizer()->bytes_of(encoding.ids[i]);
            range.begin = std::ssize(spelling.text);
            spelling.text += piece;
            range.end = std::ssize(spelling.text);
        } else if (!encoding.special[i]) {
            const std::int64_t shift = encoding.sequence[i] == 1 ? second : 0;
            range = {encoding.offsets[i].begin + shift, encoding.offsets[i].end + shift};
        }
        const auto at = [&](std::int64_t byte) { return spelling.text[static_cast<std::size_t>(byte)]; };
        while (range.begin < range.end && is_space(at(range.begin))) ++range.begin;
        while (range.end > range.begin && is_space(at(range.end - 1))) --range.end;
        spelling.of_token.push_back(range);
    }
    return spelling;
}

/// Stretches without white space, in order.
std::vector<text::ByteRange> typed_words(const std::string& text) {
    std::vector<text::ByteRange> words;
    const auto size = std::ssize(text);
    for (std::int64_t at = 0; at < size;) {
        while (at < size && is_space(text[static_cast<std::size_t>(at)])) ++at;
        const std::int64_t begin = at;
        while (at < size && !is_space(text[static_cast<std::size_t>(at)])) ++at;
        if (at > begin) words.push_back({begin, at});
    }
    return words;
}

std::vector<std::string> spelled(const std::string& text, const std::vector<text::ByteRange>& words) {
    std::vector<std::string> out;
    for (const auto& word : words) {
        std::string& each =
            out.emplace_back(text.substr(static_cast<std::size_t>(word.begin), static_cast<std::size_t>(word.end - word.begin)));
        std::ranges::transform(each, each.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    }
    return out;
}

/// Tokens of a word and where each ends, from the word's begin; empty if one reaches beyond the word.
struct Piece {
    std::int64_t position, end;
};
std::vector<Piece> pieces_of(const Spelling& spelling, const text::ByteRange& word, std::size_t& token) {
    std::vector<Piece> pieces;
    const auto& ranges = spelling.of_token;
    const auto empty = [&](std::size_t i) { return ranges[i].begin == ranges[i].end; };
    while (token < ranges.size() && (empty(token) || ranges[token].end <= word.begin)) ++token;
    bool whole = true;
    for (; token < ranges.size() && (empty(token) || ranges[token].begin < word.end); ++token) {
        if (empty(token)) continue;
        whole = whole && ranges[token].begin >= word.begin && ranges[token].end <= word.end;
        pieces.push_back({static_cast<std::int64_t>(token), ranges[token].end - word.begin});
    }
    if (!whole) pieces.clear();
    return pieces;
}

/// Positions that are in no unit become units of their own.
std::vector<TextUnit> filled(const std::vector<TextUnit>& units, std::int64_t count, std::vector<std::int64_t>& place) {
    std::vector<TextUnit> all;
    std::int64_t next = 0;
    for (const TextUnit& unit : units) {
        for (; next < unit.first; ++next) all.push_back({next, 1});
        place.push_back(std::ssize(all));
        all.push_back(unit);
        next = unit.first + unit.count;
    }
    for (; next < count; ++next) all.push_back({next, 1});
    return all;
}

Alignment by_characters(const Spelling& a, const Spelling& b) {
    const auto words_a = typed_words(a.text), words_b = typed_words(b.text);
    const auto word_of = text::align_tokens(spelled(a.text, words_a), spelled(b.text, words_b));
    std::vector<TextUnit> units_a, units_b;
    std::size_t token_a = 0, token_b = 0;
    for (std::size_t w = 0; w < words_a.size(); ++w) {
        if (word_of[w] < 0) continue;
        const auto in_a = pieces_of(a, words_a[w], token_a),
                   in_b = pieces_of(b, words_b[static_cast<std::size_t>(word_of[w])], token_b);
        for (std::size_t i = 0, j = 0; i < in_a.size() && j < in_b.size();) {
            const std::size_t from_a = i, from_b = j;
            while (in_a[i].end != in_b[j].end) {
                if (in_a[i].end < in_b[j].end ? i + 1 == in_a.size() : j + 1 == in_b.size()) break;
                in_a[i].end < in_b[j].end ? ++i : ++j;
            }
            if (in_a[i].end != in_b[j].end) break;
            // Bytes of one character end together: they are one unit.
            while (i + 1 < in_a.size() && in_a[i + 1].end == in_a[i].end) ++i;
            while (j + 1 < in_b.size() && in_b[j + 1].end == in_b[j].end) ++j;
            units_a.push_back({in_a[from_a].position, in_a[i].position - in_a[from_a].position + 1});
            units_b.push_back({in_b[from_b].position, in_b[j].position - in_b[from_b].position + 1});
            ++i, ++j;
        }
    }
    Alignment out;
    out.pooled = true;
    std::vector<std::int64_t> place_a, place_b;
    out.a = filled(units_a, std::ssize(a.of_token), place_a);
    out.b = filled(units_b, std::ssize(b.of_token), place_b);
    out.to.assign(out.a.size(), -1);
    for (std::size_t u = 0; u < place_a.size(); ++u) out.to[static_cast<std::size_t>(place_a[u])] = place_b[u];
    return out;
}

/// A single token in place of a single other one, between tokens that both texts have, stands for it: he and she. So do the last
/// tokens, from which the next one is predicted.
void pair_replaced(std::vector<std::int64_t>& to, std::int64_t others) {
    for (std::size_t u = 1; u + 1 < to.size(); ++u)
        if (to[u] < 0 && to[u - 1] >= 0 && to[u + 1] == to[u - 1] + 2) to[u] = to[u - 1] + 1;
    // Texts that share the first token alone, which a model may put before every text, have nothing in common.
    if (to.size() < 2 || to.back() >= 0) return;
    const std::int64_t last_partner = *std::max_element(to.begin() + 1, to.end());
    if (last_partner >= 0 && last_partner < others - 1) to.back() = others - 1;
}

Alignment align(const trace::Trace& a, const text::Encoding& of_a, const trace::Trace& b, const text::Encoding& of_b) {
    if (!same_tokens(a, b)) return by_characters(spelling_of(a, of_a), spelling_of(b, of_b));
    Alignment out;
    out.a = single_units(of_a.size());
    out.b = single_units(of_b.size());
    out.to = text::align_tokens(of_a.tokens, of_b.tokens);
    pair_replaced(out.to, of_b.size());
    return out;
}

}  // namespace

std::int64_t Alignment::aligned() const noexcept {
    return std::ranges::count_if(to, [](std::int64_t unit) { return unit >= 0; });
}

std::vector<std::int64_t> Alignment::back() const {
    std::vector<std::int64_t> from(b.size(), -1);
    for (std::size_t u = 0; u < to.size(); ++u)
        if (to[u] >= 0) from[static_cast<std::size_t>(to[u])] = static_cast<std::int64_t>(u);
    return from;
}

std::vector<std::int64_t> Alignment::positions() const {
    std::vector<std::int64_t> out;
    for (std::size_t u = 0; u < a.size(); ++u)
        out.insert(out.end(), static_cast<std::size_t>(a[u].count), to[u] < 0 ? -1 : b[static_cast<std::size_t>(to[u])].first);
    return out;
}

std::vector<MergedUnit> merged(const Alignment& alignment) {
    std::vector<MergedUnit> out;
    std::int64_t next = 0;
    for (std::int64_t u = 0; u < std::ssize(alignment.a); ++u) {
        const std::int64_t partner = alignment.to[static_cast<std::size_t>(u)];
        for (; partner >= 0 && next < partner; ++next) out.push_back({-1, next});
        out.push_back({u, partner});
        if (partner >= 0) ++next;
    }
    for (; next < std::ssize(alignment.b); ++next) out.push_back({-1, next});
    return out;
}

bool same_tokens(const trace::Trace& a, const trace::Trace& b) {
    if (a.tokenizer() == b.tokenizer() || a.model()->folder() == b.model()->folder()) return true;
    if (!a.tokenizer() || !b.tokenizer()) return true;  // a saved trace: tokens are what it calls them
    if (a.encoding().pixels && b.encoding().pixels) return a.encoding().tokens == b.encoding().tokens;
    if (a.tokenizer()->vocab_size() != b.tokenizer()->vocab_size()) return false;
    const auto alike = [&](const std::string& text) {
        return a.tokenizer()->encode(text).tokens == b.tokenizer()->encode(text).tokens;
    };
    return alike(a.text_a()) && alike(b.text_a()) && alike(a.text_b()) && alike(b.text_b());
}

Alignment align_queries(const trace::Trace& a, const trace::Trace& b) { return align(a, a.encoding(), b, b.encoding()); }

Alignment align_keys(const trace::Trace& a, const trace::Trace& b) { return align(a, a.key_encoding(), b, b.key_encoding()); }

std::string unit_label(const std::vector<text::TokenLabel>& labels, TextUnit unit) {
    std::string out;
    for (std::int64_t p = unit.first; p < unit.first + unit.count; ++p) {
        const text::TokenLabel& label = labels[static_cast<std::size_t>(p)];
        out += (p > unit.first ? "" : label.continuation) + label.text;
    }
    return out;
}

}  // namespace headlight::intervention
