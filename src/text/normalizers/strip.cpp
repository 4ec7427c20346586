// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/normalizers/normalizer.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::text {
namespace {

class Strip final : public Normalizer {
public:
    explicit Strip(const Field& f) : left_(f.boolean_or("strip_left", true)), right_(f.boolean_or("strip_right", true)) {}

    void normalize(Section& s) const override {
        std::size_t begin = 0;
        std::size_t end = s.text.size();
        for (std::size_t at = begin; left_ && at < s.text.size() && unicode::is_space(utf8::next(s.text, at));) begin = at;
        while (right_ && end > begin) {
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

private:
    bool left_;
    bool right_;
};

class StripAccents final : public Normalizer {
public:
    void normalize(Section& s) const override { drop_characters(s, unicode::is_mark); }
};

/// SentencePiece's cleaning for translation models: drops controls, turns other white space and marks of it into spaces.
class Nmt final : public Normalizer {
public:
    void normalize(Section& s) const override {
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

private:
    static bool drops(char32_t c) {
        return (c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
    }
    static bool blanks(char32_t c) {
        return c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
               c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    }
};

}  // namespace

NormalizerPtr make_nmt() { return std::make_unique<Nmt>(); }

void drop_characters(Section& s, bool (*drop)(char32_t) noexcept) {
    rewrite_runs(s, false, [drop](std::vector<Char>& run) { std::erase_if(run, [drop](const Char& ch) { return drop(ch.c); }); });
}

NormalizerPtr make_strip(const Field& f) { return std::make_unique<Strip>(f); }
NormalizerPtr make_strip_accents() { return std::make_unique<StripAccents>(); }

}  // namespace headlight::text
