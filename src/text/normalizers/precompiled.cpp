// SPDX-License-Identifier: GPL-3.0-or-later
// SentencePiece's table of replacements: a double-array trie (Aoe 1989, as Darts-clone packs it) of what is replaced, and
// the replacements. Looked up for every character a reader sees, then for its parts, as Hugging Face tokenizers does.
#include "text/normalizers/normalizer.h"
#include "text/utf8.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <cstring>
#include <optional>

namespace headlight::text {
namespace {

std::optional<std::string> decode_base64(std::string_view text) {
    std::string out;
    std::uint32_t bits = 0;
    int have = 0;
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    for (const char c : text) {
        static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::size_t value = kAlphabet.find(c);
        if (value == kAlphabet.npos) return std::nullopt;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        have += 6;
        if (have < 8) continue;
        have -= 8;
        out += static_cast<char>(bits >> have & 0xff);
    }
    return out;
}

class Precompiled final : public Normalizer {
public:
    explicit Precompiled(const Field& f) {
        const Field map = f.at("precompiled_charsmap");
        const auto blob = decode_base64(map.string());
        std::uint32_t size = 0;
        if (!blob || blob->size() < 4) map.fail("The table of replacements cannot be read", "base64 of a trie and its strings");
        std::memcpy(&size, blob->data(), 4);
        if (size > blob->size() - 4 || size % 4 != 0 || size == 0)
            map.fail("The table of replacements cannot be read", "a trie of at most " + std::to_string(blob->size() - 4) + " bytes",
                     std::to_string(size));
        units_.resize(size / 4);
        std::memcpy(units_.data(), blob->data() + 4, size);
        strings_ = blob->substr(4 + size);
        if (utf8::first_invalid(strings_)) map.fail("The table of replacements is not UTF-8");
    }

    void normalize(Section& s) const override {
        const std::vector<Char> old = chars_of(s, 0, s.text.size());
        std::vector<Step> steps;
        bool changed = false;
        for_graphemes(s.text, [&](std::string_view grapheme) {
            if (grapheme.size() < 6) {
                if (const auto found = replacement(grapheme)) {
                    put(steps, grapheme, *found);
                    changed = true;
                    return;
                }
            }
            for (std::size_t at = 0; at < grapheme.size();) {
                const std::size_t size = utf8::length(grapheme[at]);
                const std::string_view part = grapheme.substr(at, size);
                if (const auto found = replacement(part)) {
                    put(steps, part, *found);
                    changed = true;
                } else {
                    std::size_t i = 0;
                    steps.push_back({utf8::next(part, i), 0});
                }
                at += size;
            }
        });
        if (!changed) return;
        const std::vector<Char> chars = apply(old, steps);
        Rewrite rewrite(s);
        rewrite.replace(0, s.text.size(), chars);
        rewrite.apply();
    }

private:
    /// A character of the result. 0: takes the place of the next old one; 1: added; -n: takes n more old ones along.
    struct Step {
        char32_t c = 0;
        int change = 0;
    };

    static void put(std::vector<Step>& steps, std::string_view old_part, std::string_view new_part) {
        const int difference = static_cast<int>(utf8::count(new_part)) - static_cast<int>(utf8::count(old_part));
        for (std::size_t at = 0; at < new_part.size();) steps.push_back({utf8::next(new_part, at), 0});
        for (int i = 0; i < difference; ++i) steps[steps.size() - 1 - static_cast<std::size_t>(i)].change = 1;
        // Something that is dropped goes with the character before it; at the very beginning the reference forgets it.
        if (difference < 0 && !steps.empty()) steps.back().change += difference;
    }

    static std::vector<Char> apply(const std::vector<Char>& old, const std::vector<Step>& steps) {
        std::vector<Char> chars;
        std::size_t next = 0;
        for (const Step& step : steps) {
            const std::size_t from = step.change > 0 ? std::max<std::size_t>(next, 1) - 1 : std::min(next, old.size() - 1);
            chars.push_back({step.c, old[from].align});
            if (step.change <= 0) next += static_cast<std::size_t>(1 - step.change);
        }
        return chars;
    }

    template <class F>
    static void for_graphemes(const std::string& text, F visit) {
        UErrorCode code = U_ZERO_ERROR;
        const std::unique_ptr<icu::BreakIterator> breaks(icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), code));
        UText source = UTEXT_INITIALIZER;
        utext_openUTF8(&source, text.data(), static_cast<std::int64_t>(text.size()), &code);
        if (U_SUCCESS(code)) breaks->setText(&source, code);
        std::size_t begin = 0;
        while (U_SUCCESS(code) && begin < text.size()) {
            const std::int32_t end = breaks->next();
            if (end == icu::BreakIterator::DONE) break;
            visit(std::string_view(text).substr(begin, static_cast<std::size_t>(end) - begin));
            begin = static_cast<std::size_t>(end);
        }
        if (begin < text.size()) visit(std::string_view(text).substr(begin));
        utext_close(&source);
    }

    /// What the shortest entry that `part` begins with is replaced by; nothing when there is none.
    std::optional<std::string_view> replacement(std::string_view part) const {
        std::size_t at = offset(units_[0]);
        for (const char c : part) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte == 0) return std::nullopt;
            at ^= byte;
            if (at >= units_.size()) return std::nullopt;
            const std::uint32_t unit = units_[at];
            if ((unit & (0x80000000u | 0xffu)) != byte) return std::nullopt;
            at ^= offset(unit);
            if ((unit >> 8 & 1) == 0) continue;
            if (at >= units_.size()) return std::nullopt;
            const std::size_t begin = units_[at] & 0x7fffffffu;
            if (begin > strings_.size()) return std::nullopt;
            const std::size_t end = std::min(strings_.find('\0', begin), strings_.size());
            return std::string_view(strings_).substr(begin, end - begin);
        }
        return std::nullopt;
    }
    static std::size_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

    std::vector<std::uint32_t> units_;
    std::string strings_;
};

}  // namespace

NormalizerPtr make_precompiled(const Field& f) {
    return std::make_unique<Precompiled>(f);
}

}  // namespace headlight::text
