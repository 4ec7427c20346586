// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/unicode/unicode.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>

namespace headlight::text::unicode {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

// Characters that Unicode 16 and 17 added and that an older ICU does not know.
constexpr Range kNewLetters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85},
    {0x10EC2, 0x10EC4}, {0x11380, 0x11389}, {0x1138B, 0x1138B}, {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7},
    {0x113D1, 0x113D1}, {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C},
    {0x18CFF, 0x18CFF}, {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D}};
constexpr Range kNewNumbers[] = {{0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x16130, 0x16139},
                                 {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1E5F1, 0x1E5FA}};
constexpr Range kNewMarks[] = {{0x897, 0x897},     {0x10D69, 0x10D6D}, {0x10EFC, 0x10EFC}, {0x113B8, 0x113C0}, {0x113C2, 0x113C2},
                               {0x113C5, 0x113C5}, {0x113C7, 0x113CA}, {0x113CC, 0x113D0}, {0x113D2, 0x113D2}, {0x113E1, 0x113E2},
                               {0x11F5A, 0x11F5A}, {0x1611E, 0x1612F}, {0x1E5EE, 0x1E5EF}};
constexpr Range kNewest[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};  // numbers of Unicode 17

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t c) noexcept {
    const auto* r = std::partition_point(std::begin(ranges), std::end(ranges), [c](Range x) { return x.last < c; });
    return r != std::end(ranges) && r->first <= c;
}

std::uint32_t category(char32_t c) noexcept { return U_GET_GC_MASK(static_cast<UChar32>(c)); }

bool unassigned(std::uint32_t gc) noexcept { return (gc & U_GC_CN_MASK) != 0; }

bool known_to(char32_t c, std::uint8_t version) noexcept {
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(c), age);
    return age[0] < version || (age[0] == version && age[1] == 0);
}

}  // namespace

bool is_space(char32_t c) noexcept { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

bool is_letter(char32_t c) noexcept {
    const auto gc = category(c);
    return (gc & U_GC_L_MASK) || (unassigned(gc) && in(kNewLetters, c));
}

bool is_number(char32_t c) noexcept {
    const auto gc = category(c);
    return (gc & U_GC_N_MASK) || (unassigned(gc) && in(kNewNumbers, c));
}

bool is_numeric(char32_t c) noexcept { return is_number(c) || (unassigned(category(c)) && in(kNewest, c)); }

bool is_word(char32_t c) noexcept {
    const auto gc = category(c);
    if (unassigned(gc)) return in(kNewLetters, c) || in(kNewNumbers, c) || in(kNewMarks, c);
    return (gc & (U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) ||
           u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ALPHABETIC) || c == 0x200C || c == 0x200D;
}

bool is_punctuation(char32_t c) noexcept {
    if (c < 0x80) return (c > 0x20 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7F);
    if (c == 0x166D || c == 0x111C9) return true;  // punctuation in Unicode 8, not any more
    return (category(c) & U_GC_P_MASK) && known_to(c, 8);
}

bool is_nonspacing(char32_t c) noexcept {
    switch (c) {  // changed their category after Unicode 8
        case 0x1734: return true;
        case 0x1885:
        case 0x1886:
        case 0xA9BD:
        case 0x111C9: return false;
        default: return (category(c) & U_GC_MN_MASK) && known_to(c, 8);
    }
}

bool is_mark(char32_t c) noexcept {
    switch (c) {  // changed their category after Unicode 9
        case 0x1CF2:
        case 0x1CF3: return true;
        case 0x111C9: return false;
        default: return (category(c) & U_GC_M_MASK) && known_to(c, 9);
    }
}

bool is_invisible(char32_t c) noexcept {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    if (c < 0x80) return c < 0x20 || c == 0x7F;
    const auto gc = category(c);
    return (gc & (U_GC_CC_MASK | U_GC_CO_MASK)) || c == 0xFFFD || ((gc & U_GC_CF_MASK) && known_to(c, 8));
}

bool is_chinese(char32_t c) noexcept {
    constexpr Range blocks[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
                                {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
    return c >= 0x3400 && in(blocks, c);
}

char32_t simple_lower(char32_t c) noexcept {
    if (unassigned(category(c))) {
        if (c == 0x1C89 || c == 0xA7CC || c == 0xA7CE || c == 0xA7D2 || c == 0xA7D4 || c == 0xA7DA) return c + 1;
        if (c == 0xA7CB) return 0x264;
        if (c == 0xA7DC) return 0x19B;
        if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;
        if (c >= 0x16EA0 && c <= 0x16EB8) return c + 0x1B;
        return c;
    }
    return static_cast<char32_t>(u_tolower(static_cast<UChar32>(c)));
}

std::size_t lower(char32_t c, std::array<char32_t, 2>& out) noexcept {
    if (c == 0x130) {
        out = {'i', 0x307};
        return 2;
    }
    out[0] = simple_lower(c);
    return 1;
}

}  // namespace headlight::text::unicode
