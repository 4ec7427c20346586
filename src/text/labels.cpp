// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/text/tokenizer.h"
#include "text/unicode/utf8.h"

#include <unicode/uchar.h>

#include <cstdio>

namespace headlight::text {
namespace {

constexpr std::size_t kLongestJoin = 64;  ///< tokens; a longer chain of broken characters is shown byte by byte

std::string hex_label(const char* format, unsigned value) {
    char text[16];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string label_of(char32_t c) {
    switch (c) {
        case ' ': return "·";
        case '\n': return "⏎";
        case '\t': return "⇥";
        case '\r': return "␍";
        default: break;
    }
    if (c < 0x20) return utf8::encode(0x2400 + c);
    if (c == 0x7F) return "␡";
    switch (c) {  // of no width, or like another: their names are shorter than their numbers
        case 0x00A0: return "‹NBSP›";
        case 0x00AD: return "‹SHY›";
        case 0x200B: return "‹ZWSP›";
        case 0x200C: return "‹ZWNJ›";
        case 0x200D: return "‹ZWJ›";
        case 0x200E: return "‹LRM›";
        case 0x200F: return "‹RLM›";
        case 0x2060: return "‹WJ›";
        case 0xFEFF: return "‹BOM›";
        default: break;
    }
    const auto gc = U_GET_GC_MASK(static_cast<UChar32>(c));
    if (gc & (U_GC_C_MASK | U_GC_Z_MASK)) return hex_label("<U+%04X>", static_cast<unsigned>(c));
    return utf8::encode(c);
}

/// What the bytes look like: white space and bytes that are no character become visible.
std::string printable(std::string_view bytes) {
    std::string out;
    bool base = false;  // whether a character stands before that a mark can sit on
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = utf8::valid_length(bytes, at);
        if (n == 0) {
            out += hex_label("<0x%02X>", static_cast<unsigned char>(bytes[at++]));
            base = false;
            continue;
        }
        std::size_t behind = at;
        const char32_t c = utf8::next(bytes, behind);
        at = behind;
        // Inside a text a joiner or a variation selector belongs to the emoji around it.
        const bool joins = base && (c == 0x200D || c == 0xFE0F || c == 0xFE0E || c == 0x200C);
        const bool mark = (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_M_MASK) != 0;
        if (mark && !base && !joins) out += "◌";
        out += joins ? utf8::encode(c) : label_of(c);
        base = joins || !(U_GET_GC_MASK(static_cast<UChar32>(c)) & (U_GC_C_MASK | U_GC_Z_MASK));
    }
    return out;
}

/// Bytes at the end that begin a character without ending it; 0 when the text ends cleanly or is broken anyway.
std::size_t open_tail(std::string_view bytes) {
    for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
        const auto b = static_cast<unsigned char>(bytes[bytes.size() - back]);
        if ((b & 0xC0) == 0x80) continue;
        const std::size_t needs = b >= 0xF0 && b <= 0xF4 ? 4 : b >= 0xE0 ? 3 : b >= 0xC2 ? 2 : 1;
        return b < 0xF5 && needs > back ? back : 0;
    }
    return 0;
}

TokenLabel single_label(const Tokenizer& t, std::int64_t id, const std::string& bytes) {
    TokenLabel label;
    const std::string& token = t.token_of(id);
    label.special = t.is_special(id);
    if (label.special) {
        label.text = printable(token);
    } else {
        if (token.size() > bytes.size() && token.ends_with(bytes) && token.starts_with("##")) {
            label.continuation = token.substr(0, token.size() - bytes.size());
        }
        label.text = printable(bytes);
    }
    if (label.text.empty()) label.text = id < 0 || token.empty() ? "<" + std::to_string(id) + ">" : "∅";
    return label;
}

}  // namespace

std::vector<TokenLabel> token_labels(const Tokenizer& t, const Encoding& e) {
    std::vector<TokenLabel> labels;
    labels.reserve(e.ids.size());
    for (std::size_t i = 0; i < e.ids.size();) {
        const std::string bytes = t.bytes_of(e.ids[i]);
        std::string joined = bytes;
        std::size_t end = i + 1;
        // Take in the next tokens as long as the last character is not complete.
        while (!t.is_special(e.ids[i]) && open_tail(joined) > 0 && end < e.ids.size() && end - i < kLongestJoin &&
               !t.is_special(e.ids[end]) && e.sequence[end] == e.sequence[i]) {
            const std::string next = t.bytes_of(e.ids[end]);
            if (next.empty() || !utf8::is_continuation(next[0])) break;
            joined += next;
            ++end;
        }
        const bool whole = end > i + 1 && open_tail(joined) == 0 && !utf8::first_invalid(joined);
        labels.push_back(single_label(t, e.ids[i], bytes));
        if (whole) {
            labels.back().text = printable(joined);
            labels.back().join_count = static_cast<std::int64_t>(end - i);
        }
        labels.back().join_first = static_cast<std::int64_t>(i);
        for (std::size_t k = i + 1; whole && k < end; ++k) {
            TokenLabel rest;
            rest.text = "⋯";
            rest.join_first = static_cast<std::int64_t>(i);
            rest.join_count = static_cast<std::int64_t>(end - i);
            labels.push_back(std::move(rest));
        }
        i = whole ? end : i + 1;
    }
    return labels;
}

std::string token_label(const Tokenizer& t, std::int64_t id) {
    const TokenLabel label = single_label(t, id, t.bytes_of(id));
    return label.continuation + label.text;
}

}  // namespace headlight::text
