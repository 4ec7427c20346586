// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pattern/scanners.h"

#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <array>

namespace headlight::text::scanners {
namespace {

enum Kind : unsigned char { Letter, Number, Space, Other, End };

constexpr std::array<unsigned char, 128> make_ascii_kinds() {
    std::array<unsigned char, 128> kinds{};
    for (unsigned c = 0; c < 128; ++c) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        kinds[c] = letter ? Letter : (c >= '0' && c <= '9') ? Number : (c == ' ' || (c >= 9 && c <= 13)) ? Space : Other;
    }
    return kinds;
}
constexpr auto kAsciiKinds = make_ascii_kinds();

/// Reads characters and their kind.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// Kind of the character at `at`; `behind` becomes the position after it.
    Kind kind(std::size_t at, std::size_t& behind) const noexcept {
        if (at >= text_.size()) {
            behind = at;
            return End;
        }
        const auto b = static_cast<unsigned char>(text_[at]);
        if (b < 0x80) {
            behind = at + 1;
            return static_cast<Kind>(kAsciiKinds[b]);
        }
        behind = at;
        const char32_t c = utf8::next(text_, behind);
        if (unicode::is_letter(c)) return Letter;
        if (unicode::is_number(c)) return Number;
        return unicode::is_space(c) ? Space : Other;
    }

    /// Behind all characters of `wanted` from `at` on.
    std::size_t skip(std::size_t at, Kind wanted) const noexcept {
        std::size_t behind = at;
        while (kind(at, behind) == wanted) at = behind;
        return at;
    }

    char byte(std::size_t at) const noexcept { return at < text_.size() ? text_[at] : '\0'; }
    std::string_view text() const noexcept { return text_; }

private:
    std::string_view text_;
};

/// Length of "'s", "'t", "'re", … at `at` (an apostrophe stands there), else 0.
std::size_t contraction(const Reader& in, std::size_t at, bool any_case) noexcept {
    const auto low = [&](std::size_t i) {
        const char b = in.byte(i);
        return any_case && b >= 'A' && b <= 'Z' ? static_cast<char>(b | 0x20) : b;
    };
    switch (low(at + 1)) {
        case 's':
        case 't':
        case 'm':
        case 'd': return 2;
        case 'r':
        case 'v': return low(at + 2) == 'e' ? 3 : 0;
        case 'l': return low(at + 2) == 'l' ? 3 : 0;
        case '\xC5':  // ſ (U+017F) is an s without regard to case
            return any_case && in.byte(at + 2) == '\xBF' ? 3 : 0;
        default: return 0;
    }
}

/// \s+(?!\S)|\s+ for a run of white space [at, end) that does not end the text: the last character is left for the next
/// match, unless it is the only one.
std::size_t leave_one(const Reader& in, std::size_t at, std::size_t end) noexcept {
    if (end >= in.text().size()) return end;
    const std::size_t last = utf8::floor(in.text(), end - 1);
    return last > at ? last : end;
}

std::size_t gpt2_end(const Reader& in, std::size_t at) noexcept {
    if (in.byte(at) == '\'') {
        if (const std::size_t n = contraction(in, at, false)) return at + n;
    }
    std::size_t behind = at;
    Kind kind = in.kind(at, behind);
    if (in.byte(at) == ' ') {
        std::size_t second = behind;
        const Kind next = in.kind(behind, second);
        if (next != Space && next != End) {
            kind = next;
            behind = second;
        }
    }
    if (kind != Space) return in.skip(behind, kind);
    return leave_one(in, at, in.skip(behind, Space));
}

bool is_newline(char b) noexcept { return b == '\r' || b == '\n'; }

std::size_t gpt4_end(const Reader& in, std::size_t at, std::size_t digits) noexcept {
    if (in.byte(at) == '\'') {
        if (const std::size_t n = contraction(in, at, true)) return at + n;
    }
    std::size_t behind = at;
    const Kind kind = in.kind(at, behind);
    if (kind == Letter) return in.skip(behind, Letter);
    if (kind == Number) {
        for (std::size_t n = 1, second = behind; n < digits && in.kind(behind, second) == Number; ++n) behind = second;
        return behind;
    }
    std::size_t second = behind;
    const Kind next = in.kind(behind, second);
    if (!is_newline(in.byte(at)) && next == Letter) return in.skip(second, Letter);
    if (kind == Other || (in.byte(at) == ' ' && next == Other)) {
        std::size_t end = in.skip(kind == Other ? behind : second, Other);
        while (is_newline(in.byte(end))) ++end;
        return end;
    }
    const std::size_t run_end = in.skip(behind, Space);
    for (std::size_t i = run_end; i > at; --i) {
        if (is_newline(in.byte(i - 1))) return i;
    }
    return leave_one(in, at, run_end);
}

}  // namespace

void gpt2(std::string_view text, std::vector<Span>& out) {
    const Reader in(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = gpt2_end(in, at);
        out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
        at = end;
    }
}

void gpt4(std::string_view text, std::size_t digits, std::vector<Span>& out) {
    const Reader in(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = gpt4_end(in, at, digits);
        out.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)});
        at = end;
    }
}

}  // namespace headlight::text::scanners
