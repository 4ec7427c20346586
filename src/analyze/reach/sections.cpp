// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/reach/sections.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

constexpr std::size_t longest_title = 48;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Where paragraphs begin, with so many line breaks between them at least.
std::vector<std::int64_t> paragraph_starts(std::string_view text, int breaks) {
    std::vector<std::int64_t> starts;
    int seen = breaks;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n')
            ++seen;
        else if (!is_blank(text[i])) {
            if (seen >= breaks) starts.push_back(static_cast<std::int64_t>(i));
            seen = 0;
        }
    }
    return starts;
}

std::vector<std::int64_t> starts_of(std::string_view text) {
    std::vector<std::int64_t> starts = paragraph_starts(text, 2);
    return starts.size() > 1 ? starts : paragraph_starts(text, 1);
}

/// One line of the text's bytes [begin, end).
std::string title_from(std::string_view text, std::int64_t begin, std::int64_t end) {
    std::string out;
    for (const char c : text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
        const bool space = c == '\n' || is_blank(c);
        if (space && (out.empty() || out.back() == ' ')) continue;
        if (out.size() >= longest_title && (static_cast<unsigned char>(c) & 0xC0) != 0x80) return out + "…";
        out += space ? ' ' : c;
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
}

}  // namespace

std::vector<TextSection> text_sections(const text::Encoding& encoding, std::string_view a, std::string_view b) {
    std::vector<TextSection> sections;
    const std::string_view texts[] = {a, b};
    const std::vector<std::int64_t> starts[] = {starts_of(a), starts_of(b)};
    std::size_t next[] = {0, 0};
    for (std::int64_t i = 0; i < encoding.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t sequence = at < encoding.sequence.size() && at < encoding.offsets.size() ? encoding.sequence[at] : -1;
        if (sequence == 0 || sequence == 1) {
            const auto s = static_cast<std::size_t>(sequence);
            std::string title;
            bool begins = false;
            // A token that holds a paragraph's first character begins it; short ones may lie in one token.
            while (next[s] < starts[s].size() && starts[s][next[s]] < encoding.offsets[at].end) {
                const std::int64_t begin = starts[s][next[s]++];
                title = title_from(texts[s], begin,
                                   next[s] < starts[s].size() ? starts[s][next[s]] : static_cast<std::int64_t>(texts[s].size()));
                begins = true;
            }
            // Special tokens before the text are of its first section.
            const bool only_special = sections.size() == 1 && sections.front().title.empty();
            if (begins && only_special)
                sections.front().title = std::move(title);
            else if (begins)
                sections.push_back({Position(i), 0, std::move(title)});
        }
        if (sections.empty()) sections.push_back({Position(i), 0, {}});
        ++sections.back().count;
    }
    return sections;
}

std::vector<TextSection> text_sections(const trace::Trace& trace) {
    const model::Stack stack = trace.config().stack;
    const bool target = stack == model::Stack::decoder || stack == model::Stack::cross;
    return text_sections(trace.encoding(), target ? trace.text_b() : trace.text_a(), trace.text_b());
}

std::int64_t section_of(const std::vector<TextSection>& sections, Position position) noexcept {
    const auto after = std::ranges::upper_bound(sections, position, {}, &TextSection::first);
    return std::max<std::int64_t>(0, after - sections.begin() - 1);
}

}  // namespace headlight::analyze
