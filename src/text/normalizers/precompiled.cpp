// SPDX-License-Identifier: GPL-3.0-or-later
// SentencePiece's table of replacements, looked up for every character a reader sees, then for its parts, as Hugging Face
// tokenizers does.
#include "text/normalizers/charsmap.h"
#include "text/normalizers/normalizer.h"
#include "text/unicode/utf8.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>

#include <memory>

namespace headlight::text {
namespace {

class Precompiled final : public Normalizer {
public:
    explicit Precompiled(const Field& f) : map_(f.at("precompiled_charsmap")) {}

    void normalize(Section& s) const override {
        const std::vector<Char> old = chars_of(s, 0, s.text.size());
        std::vector<Step> steps;
        bool changed = false;
        for_graphemes(s.text, [&](std::string_view grapheme) {
            s.may_become(steps.size());
            if (grapheme.size() < 6) {
                if (const auto found = map_.shortest(grapheme)) {
                    put(steps, grapheme, *found);
                    changed = true;
                    return;
                }
            }
            for (std::size_t at = 0; at < grapheme.size();) {
                const std::size_t size = utf8::length(grapheme[at]);
                const std::string_view part = grapheme.substr(at, size);
                if (const auto found = map_.shortest(part)) {
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
        const std::unique_ptr<icu::BreakIterator> breaks(
            icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), code));
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

    Charsmap map_;
};

}  // namespace

NormalizerPtr make_precompiled(const Field& f) { return std::make_unique<Precompiled>(f); }

}  // namespace headlight::text
