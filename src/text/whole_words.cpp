// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/encoding.h"
#include "text/unicode/utf8.h"

#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <optional>

namespace headlight::text {
namespace {

/// The word boundaries of a text (UAX 29), by byte.
class WordBoundaries {
public:
    explicit WordBoundaries(std::string_view text) {
        UErrorCode status = U_ZERO_ERROR;
        text_ = utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status);
        breaks_ = ubrk_open(UBRK_WORD, "", nullptr, 0, &status);
        if (U_SUCCESS(status)) ubrk_setUText(breaks_, text_, &status);
        works_ = U_SUCCESS(status);
    }
    ~WordBoundaries() {
        if (breaks_) ubrk_close(breaks_);
        if (text_) utext_close(text_);
    }
    WordBoundaries(const WordBoundaries&) = delete;
    WordBoundaries& operator=(const WordBoundaries&) = delete;

    bool at(std::int64_t byte) const { return !works_ || ubrk_isBoundary(breaks_, static_cast<std::int32_t>(byte)) != 0; }

private:
    UText* text_ = nullptr;
    UBreakIterator* breaks_ = nullptr;
    bool works_ = false;
};

bool is_mark(char32_t c) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0 || c == 0x200C || c == 0x200D; }

/// A mark stands on one side of this byte.
bool beside_mark(std::string_view text, std::size_t at) {
    if (at == 0 || at >= text.size() || utf8::valid_length(text, at) == 0) return false;
    std::size_t before = at - 1, next = at;
    while (before > 0 && utf8::is_continuation(text[before])) --before;
    if (utf8::valid_length(text, before) == 0) return false;
    return is_mark(utf8::next(text, before)) || is_mark(utf8::next(text, next));
}

}  // namespace

std::vector<std::int64_t> whole_words(const Encoding& e, std::string_view a, std::string_view b) {
    std::vector<std::int64_t> words = e.words;
    if (e.offsets.size() != words.size() || e.sequence.size() != words.size()) return words;
    const std::string_view texts[] = {a, b};
    std::optional<WordBoundaries> boundaries[2];
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::int64_t side = e.sequence[i];
        if (words[i] < 0 || words[i - 1] < 0 || side < 0 || side > 1 || side != e.sequence[i - 1]) continue;
        if (e.words[i] == e.words[i - 1]) {  // the pre-tokenizer's own word goes on
            words[i] = words[i - 1];
            continue;
        }
        const std::string_view text = texts[side];
        const std::int64_t at = e.offsets[i].begin;
        if (at != e.offsets[i - 1].end || !beside_mark(text, static_cast<std::size_t>(at))) continue;
        if (!boundaries[side]) boundaries[side].emplace(text);
        if (!boundaries[side]->at(at)) words[i] = words[i - 1];
    }
    return words;
}

}  // namespace headlight::text
