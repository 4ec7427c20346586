// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pattern/regex.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "text/unicode/utf8.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <cstdint>

namespace headlight::text {
namespace {

/// Keeps ICU's backtracking from filling the memory on an unlucky pattern: 1 GB for what it has to come back to ("a{2,}"
/// needs some bytes for each of a million letters).
constexpr std::int32_t kStackLimit = 1'000'000'000;

/// ICU asks every few thousand steps whether to go on.
UBool before(const void* deadline, std::int32_t) {
    return Budget::Clock::now() < *static_cast<const Budget::Clock::time_point*>(deadline);
}
UBool before_at(const void* deadline, std::int64_t) { return before(deadline, 0); }

/// Takes the time of a block from the budget.
class Timed {
public:
    explicit Timed(Budget& budget) : budget_(budget) {}
    ~Timed() { budget_.spend(Budget::Clock::now() - start_); }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    Budget::Clock::time_point deadline() const { return start_ + budget_.time(); }

private:
    Budget& budget_;
    Budget::Clock::time_point start_ = Budget::Clock::now();
};

class IcuRegex final : public Pattern {
public:
    IcuRegex(std::unique_ptr<icu::RegexPattern> pattern, const Field& f)
        : pattern_(std::move(pattern)), file_(f.file()), path_(f.path()) {}

    void find(std::string_view text, Budget* given, std::vector<Span>& out) const override {
        if (text.empty()) return;
        Budget own(text.size(), file_);
        const Timed timed(given ? *given : own);
        const Budget::Clock::time_point deadline = timed.deadline();
        if (text.size() > INT32_MAX) fail("The text is too long for this pattern", bytes_text(text.size()));
        const icu::UnicodeString wide = icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())});
        UErrorCode status = U_ZERO_ERROR;
        const std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(wide, status));
        if (U_SUCCESS(status)) {
            matcher->setMatchCallback(before, &deadline, status);
            matcher->setFindProgressCallback(before_at, &deadline, status);
            matcher->setStackLimit(kStackLimit, status);
        }
        std::int32_t wide_at = 0;
        std::size_t at = 0;
        const auto byte_of = [&](std::int32_t target) {
            while (wide_at < target) {
                wide_at += utf8::length(text[at]) == 4 ? 2 : 1;
                at += utf8::length(text[at]);
            }
            return static_cast<std::uint32_t>(at);
        };
        std::int32_t last_end = -1;
        while (U_SUCCESS(status) && matcher->find(status)) {
            const std::int32_t begin = matcher->start(status);
            const std::int32_t end = matcher->end(status);
            if (out.size() % 1024 == 0 && !before(&deadline, 0)) status = U_REGEX_STOPPED_BY_CALLER;
            if (begin == end && end == last_end) continue;  // an empty match right after another does not count
            last_end = end;
            const std::uint32_t first = byte_of(begin);
            out.push_back({first, byte_of(end)});
        }
        if (U_FAILURE(status))
            fail("The pattern took too long or too much memory on this text",
                 status == U_REGEX_STOPPED_BY_CALLER ? "more than the time that all patterns of a text have"
                                                     : u_errorName(status));
    }

private:
    [[noreturn]] void fail(const std::string& problem, const std::string& found) const {
        throw Error({.problem = problem, .file = file_, .item = path_, .found = found});
    }

    std::unique_ptr<icu::RegexPattern> pattern_;
    std::string file_;
    std::string path_;
};

}  // namespace

std::string to_icu_syntax(std::string_view in) {
    std::string out;
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (in[i] != '\\' || i + 1 == in.size()) {
            out += in[i];
            continue;
        }
        const char c = in[++i];
        switch (c) {
            case 's': out += R"(\p{White_Space})"; break;
            case 'S': out += R"(\P{White_Space})"; break;
            case 'w': out += R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00B2\u00B3\u00B9\u00BC-\u00BE])"; break;
            case 'W': out += R"([^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00B2\u00B3\u00B9\u00BC-\u00BE])"; break;
            case 'h': out += "[0-9a-fA-F]"; break;
            case 'H': out += "[^0-9a-fA-F]"; break;
            default: out += '\\', out += c;
        }
    }
    return out;
}

PatternPtr make_regex(const Field& f) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError where;
    const icu::UnicodeString source = icu::UnicodeString::fromUTF8(to_icu_syntax(f.string()));
    // In Oniguruma's Ruby syntax ^ and $ match at every line, and only \n ends one.
    std::unique_ptr<icu::RegexPattern> pattern(
        icu::RegexPattern::compile(source, UREGEX_MULTILINE | UREGEX_UNIX_LINES, where, status));
    if (U_FAILURE(status) || !pattern) {
        f.fail("This regular expression cannot be read", "", u_errorName(status));
    }
    return std::make_unique<IcuRegex>(std::move(pattern), f);
}

}  // namespace headlight::text
