// SPDX-License-Identifier: GPL-3.0-or-later
// UnicodeScripts: runs of one script, as SentencePiece's split_by_unicode_script.
#include "text/pre_tokenizers/pre_tokenizer.h"

#include <unicode/uscript.h>

namespace headlight::text {
namespace {

constexpr int kAny = -1;  ///< goes on with the run

int script_of(char32_t c) {
    if (c == U' ') return kAny;
    if (c == U'ー') return USCRIPT_HAN;
    UErrorCode error = U_ZERO_ERROR;
    const int script = uscript_getScript(static_cast<UChar32>(c), &error);
    if (script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA) return USCRIPT_HAN;
    return U_FAILURE(error) || script == USCRIPT_UNKNOWN ? kAny : script;
}

/// As the reference, it leaves out spaces in front of the first run.
void split_at_scripts(Section& s) {
    std::vector<Span> out;
    for (const Span p : s.spans) {
        int last = kAny;
        for (std::size_t at = p.begin; at < p.end;) {
            const auto begin = static_cast<std::uint32_t>(at);
            const int script = script_of(utf8::next(s.text, at));
            if (script == kAny || script == last) continue;
            if (last != kAny) out.back().end = begin;
            out.push_back({begin, p.end});
            last = script;
        }
    }
    s.spans = std::move(out);
}

}  // namespace

PreTokenizerPtr make_unicode_scripts() { return pre_tokenizer_of(split_at_scripts); }

}  // namespace headlight::text
