// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/post_processors/post_processor.h"
#include "text/unicode/unicode.h"
#include "text/unicode/utf8.h"

#include <algorithm>

namespace headlight::text {
namespace {

constexpr char32_t kWrittenSpace = 0x120;  // Ġ: the space in the byte-level alphabet

bool is_blank(char32_t c) { return c == kWrittenSpace || unicode::is_space(c); }

std::size_t leading_blanks(std::string_view token) {
    std::size_t n = 0;
    for (std::size_t at = 0; at < token.size() && is_blank(utf8::next(token, at));) ++n;
    return n;
}

std::size_t trailing_blanks(std::string_view token) {
    std::size_t n = 0;
    for (std::size_t end = token.size(); end > 0; ++n) {
        end = utf8::floor(token, end - 1);
        std::size_t at = end;
        if (!is_blank(utf8::next(token, at))) break;
    }
    return n;
}

class ByteLevelPostProcessor final : public PostProcessor {
public:
    explicit ByteLevelPostProcessor(const Field& f)
        : trim_(f.boolean_or("trim_offsets", true)), add_prefix_space_(f.boolean_or("add_prefix_space", true)) {}
    void process(std::vector<Segment>& segments, bool, const VocabView& vocab) const override {
        if (!trim_) return;
        for (Segment& s : segments) trim_offsets(s, add_prefix_space_, vocab);
    }

private:
    bool trim_;
    bool add_prefix_space_;
};

}  // namespace

void trim_offsets(Segment& s, bool add_prefix_space, const VocabView& vocab) {
    auto spelling = s.spellings.begin();
    for (std::size_t i = 0; i < s.tokens.size(); ++i) {
        PlacedToken& t = s.tokens[i];
        std::string_view token = vocab.token_of(t.id);
        if (spelling != s.spellings.end() && spelling->first == i) token = (spelling++)->second;
        std::size_t leading = leading_blanks(token);
        const std::size_t trailing = trailing_blanks(token);
        // One blank before the first token is the prefix space; the text as typed does not have it.
        if ((i == 0 || t.begin == 0) && add_prefix_space && leading == 1) leading = 0;
        for (; leading > 0 && t.begin < t.end; --leading) {
            t.begin = static_cast<std::uint32_t>(utf8::ceil(s.typed, t.begin + 1));
        }
        std::uint32_t end = t.end;
        std::size_t left = trailing;
        for (; left > 0 && end > 0; --left) end = static_cast<std::uint32_t>(utf8::floor(s.typed, end - 1));
        if (trailing > 0 && left == 0) t.end = std::max(end, t.begin);
    }
}

PostProcessorPtr make_byte_level_processor(const Field& f) { return std::make_unique<ByteLevelPostProcessor>(f); }

}  // namespace headlight::text
