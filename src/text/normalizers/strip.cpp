// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::text {
namespace {

bool drops(char32_t c) {
    return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}

bool blanks(char32_t c) {
    return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

/// SentencePiece's cleaning for translation models: drops controls, turns other white space and marks of it into spaces.
void clean_for_translation(Section& s) {
    std::vector<Char> chars = chars_of(s, 0, s.text.size());
    const std::vector<Char> before = chars;
    std::erase_if(chars, [](const Char& ch) { return drops(ch.c); });
    for (Char& ch : chars)
        if (blanks(ch.c)) ch.c = ' ';
    if (chars == before) return;
    Rewrite rewrite(s);
    rewrite.replace(0, s.text.size(), chars);
    rewrite.apply();
}

void strip(Section& s, bool left, bool right) {
    std::size_t begin = 0;
    std::size_t end = s.text.size();
    for (std::size_t at = begin; left && at < s.text.size() && unicode::is_space(utf8::next(s.text, at));) begin = at;
    while (right && end > begin) {
        std::size_t at = utf8::floor(s.text, end - 1);
        const std::size_t first = at;
        if (!unicode::is_space(utf8::next(s.text, at))) break;
        end = first;
    }
    Rewrite rewrite(s);
    if (end < s.text.size() || begin > 0) {
        rewrite.replace(0, begin, "", {});
        rewrite.replace(end, s.text.size(), "", {});
    }
    rewrite.apply();
}

}  // namespace

NormalizerPtr make_nmt() { return normalizer_of(clean_for_translation); }

void drop_characters(Section& s, bool (*drop)(char32_t) noexcept) {
    rewrite_runs(s, false, [drop](std::vector<Char>& run) { std::erase_if(run, [drop](const Char& ch) { return drop(ch.c); }); });
}

NormalizerPtr make_strip(const Field& f) {
    const bool left = f.boolean_or("strip_left", true), right = f.boolean_or("strip_right", true);
    return normalizer_of([=](Section& s) { strip(s, left, right); });
}

NormalizerPtr make_strip_accents() {
    return normalizer_of([](Section& s) { drop_characters(s, unicode::is_mark); });
}

}  // namespace headlight::text
