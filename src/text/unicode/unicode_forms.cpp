// SPDX-License-Identifier: GPL-3.0-or-later
// Unicode normalisation (UAX #15) that keeps track of where each character came from.
#include "text/unicode/unicode.h"

#include "text/unicode/utf8.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <optional>

namespace headlight::text::unicode {
namespace {

/// A character on the way: `change` tells how it uses up the characters before the step: 0 takes the place of one,
/// 1 is additional, -n takes the place of one and swallows the n after it.
struct Step {
    char32_t c = 0;
    int change = 0;
    std::uint8_t order = 0;  ///< canonical combining class
};

bool in_unicode_9(char32_t c) noexcept {
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(c), age);
    return age[0] < 9 || (age[0] == 9 && age[1] == 0);
}

std::uint8_t combining_class(char32_t c) noexcept {
    const std::uint8_t order = u_getCombiningClass(static_cast<UChar32>(c));
    return order != 0 && in_unicode_9(c) ? order : 0;
}

const icu::Normalizer2& data(bool compatibility) {
    UErrorCode status = U_ZERO_ERROR;
    // These two are part of ICU's common data, which the process cannot run without.
    return *(compatibility ? icu::Normalizer2::getNFKCInstance(status) : icu::Normalizer2::getNFCInstance(status));
}

std::vector<Step> decompose(const std::vector<Char>& run, bool compatibility) {
    const icu::Normalizer2& forms = data(compatibility);
    std::vector<Step> steps;
    icu::UnicodeString mapped;
    for (const Char& ch : run) {
        if (ch.c < 0x80 || !in_unicode_9(ch.c) || !forms.getDecomposition(static_cast<UChar32>(ch.c), mapped)) {
            steps.push_back({ch.c, 0, combining_class(ch.c)});
            continue;
        }
        for (int i = 0; i < mapped.length(); i = mapped.moveIndex32(i, 1)) {
            const auto c = static_cast<char32_t>(mapped.char32At(i));
            steps.push_back({c, i == 0 ? 0 : 1, combining_class(c)});
        }
    }
    for (auto it = steps.begin(); it != steps.end();) {
        if (it->order == 0) {
            ++it;
            continue;
        }
        const auto end = std::find_if(it, steps.end(), [](const Step& s) { return s.order == 0; });
        std::stable_sort(it, end, [](const Step& a, const Step& b) { return a.order < b.order; });
        it = end;
    }
    return steps;
}

std::optional<char32_t> compose_pair(char32_t a, char32_t b) {
    const UChar32 c = data(false).composePair(static_cast<UChar32>(a), static_cast<UChar32>(b));
    if (c < 0 || !in_unicode_9(static_cast<char32_t>(c))) return std::nullopt;
    return static_cast<char32_t>(c);
}

std::vector<Step> compose(const std::vector<Step>& steps) {
    std::vector<Step> out;
    std::optional<std::size_t> starter;  // position in out of the last starter
    int last_order = -1;                 // class of the last character after it, -1: none
    for (const Step& s : steps) {
        if (starter && (last_order < s.order)) {
            if (const auto c = compose_pair(out[*starter].c, s.c)) {
                out[*starter].c = *c;
                out[*starter].change += s.change - 1;
                continue;
            }
        }
        if (s.order == 0) {
            starter = out.size();
            last_order = -1;
        } else {
            last_order = s.order;
        }
        out.push_back(s);
    }
    return out;
}

}  // namespace

void normalize(std::vector<Char>& run, Form form) {
    const bool compatibility = form == Form::NFKC || form == Form::NFKD;
    std::vector<Step> steps = decompose(run, compatibility);
    if (form == Form::NFC || form == Form::NFKC) steps = compose(steps);

    std::vector<Char> out;
    out.reserve(steps.size());
    std::size_t used = 0;
    for (const Step& s : steps) {
        if (s.change > 0) {
            out.push_back({s.c, run[used > 0 ? used - 1 : 0].align});
            continue;
        }
        // Swallowing more than is left cannot happen in one run; the bound keeps a surprise harmless.
        out.push_back({s.c, run[std::min(used, run.size() - 1)].align});
        used += 1 + static_cast<std::size_t>(-s.change);
    }
    run = std::move(out);
}

std::string case_folded(std::string_view bytes) {
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
        if (utf8::is_ascii(static_cast<unsigned char>(bytes[at]))) {
            const char c = bytes[at++];
            out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        } else if (utf8::valid_length(bytes, at) == 0) {
            out += bytes[at++];
        } else {
            icu::UnicodeString(static_cast<UChar32>(utf8::next(bytes, at))).foldCase().toUTF8String(out);
        }
    }
    return out;
}

}  // namespace headlight::text::unicode
