// SPDX-License-Identifier: GPL-3.0-or-later
// The pre-tokenizers that look at one character at a time: BertPreTokenizer, WhitespaceSplit, Whitespace, Digits,
// Punctuation, FixedLength.
#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <array>

namespace headlight::text {
namespace {

/// Cuts every span into runs of one class; a class of `Drop` is left out, one of `Single` stands alone.
enum Class : unsigned char { Drop = 0, Single = 1, Word = 2, Symbol = 3 };

template <class F>
void cut_by_class(Section& s, const std::array<unsigned char, 128>& ascii, F other) {
    std::vector<Span> out;
    out.reserve(s.text.size() / 4 + s.spans.size());
    const std::string& text = s.text;
    for (const Span p : s.spans) {
        unsigned char open = Drop;
        std::uint32_t begin = p.begin;
        for (std::size_t at = p.begin; at < p.end;) {
            const auto first = static_cast<std::uint32_t>(at);
            const auto b = static_cast<unsigned char>(text[at]);
            unsigned char now = Drop;
            if (b < 0x80) {
                now = ascii[b];
                ++at;
            } else {
                now = other(utf8::next(text, at));
            }
            if (now == open && now != Single) continue;
            if (open != Drop) out.push_back({begin, first});
            open = now;
            begin = first;
        }
        if (open != Drop && begin < p.end) out.push_back({begin, p.end});
    }
    s.spans = std::move(out);
}

template <class F>
std::array<unsigned char, 128> ascii_table(F class_of) {
    std::array<unsigned char, 128> table{};
    for (unsigned c = 0; c < 128; ++c) table[c] = class_of(static_cast<char32_t>(c));
    return table;
}

template <unsigned char (*ClassOf)(char32_t)>
PreTokenizerPtr by_class() {
    return pre_tokenizer_of([ascii = ascii_table(ClassOf)](Section& s) { cut_by_class(s, ascii, ClassOf); });
}

unsigned char bert_class(char32_t c) { return unicode::is_space(c) ? Drop : unicode::is_punctuation(c) ? Single : Word; }
unsigned char space_class(char32_t c) { return unicode::is_space(c) ? Drop : Word; }
unsigned char word_class(char32_t c) { return unicode::is_word(c) ? Word : unicode::is_space(c) ? Drop : Symbol; }

PreTokenizerPtr by_predicate(bool (*is_match)(char32_t) noexcept, Behavior behavior) {
    return pre_tokenizer_of([=](Section& s) { cut_at_characters(s, behavior, is_match); });
}

}  // namespace

PreTokenizerPtr make_bert_pre_tokenizer() { return by_class<bert_class>(); }
PreTokenizerPtr make_whitespace_split() { return by_class<space_class>(); }
PreTokenizerPtr make_whitespace() { return by_class<word_class>(); }

PreTokenizerPtr make_fixed_length(const Field& f) {
    const std::int64_t length = f.has("length") ? f.at("length").integer(1, INT32_MAX) : 5;
    return pre_tokenizer_of([length](Section& s) {
        std::vector<Span> out;
        for (const Span p : s.spans)
            for (std::size_t at = p.begin; at < p.end;) {
                const auto begin = static_cast<std::uint32_t>(at);
                for (std::int64_t n = 0; n < length && at < p.end; ++n) utf8::next(s.text, at);
                out.push_back({begin, static_cast<std::uint32_t>(at)});
            }
        s.spans = std::move(out);
    });
}

PreTokenizerPtr make_digits(const Field& f) {
    const bool individual = f.boolean_or("individual_digits", false);
    return by_predicate(unicode::is_numeric, individual ? Behavior::Isolated : Behavior::Contiguous);
}

PreTokenizerPtr make_punctuation(const Field& f) {
    const auto behavior = f.find("behavior");
    return by_predicate(unicode::is_punctuation, behavior ? parse_behavior(*behavior) : Behavior::Isolated);
}

}  // namespace headlight::text
