// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pattern/pattern.h"
#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/unicode/utf8.h"

namespace headlight::text {

/// Cuts at a character and drops it.
PreTokenizerPtr make_char_delimiter_split(const Field& f) {
    const Field field = f.at("delimiter");
    if (utf8::count(field.string()) != 1) field.fail_expected("one character");
    std::size_t at = 0;
    const char32_t delimiter = utf8::next(field.string(), at);
    return pre_tokenizer_of(
        [delimiter](Section& s) { cut_at_characters(s, Behavior::Removed, [delimiter](char32_t c) { return c == delimiter; }); });
}

PreTokenizerPtr make_split(const Field& f) {
    auto split = [pattern = make_pattern(f.at("pattern")), behavior = parse_behavior(f.at("behavior")),
                  invert = f.boolean_or("invert", false)](Section& s) {
        std::vector<Span> matches;
        cut_spans(s, behavior, [&](Span p, std::vector<Part>& parts) {
            matches.clear();
            pattern->find(std::string_view(s.text).substr(p.begin, p.size()), s.budget, matches);
            std::uint32_t rest = 0;
            const auto add = [&](std::uint32_t begin, std::uint32_t end, bool match) {
                parts.push_back({{p.begin + begin, p.begin + end}, match != invert});
            };
            for (const Span m : matches) {
                if (rest < m.begin) add(rest, m.begin, false);
                add(m.begin, m.end, true);
                rest = m.end;
            }
            if (rest < p.size()) add(rest, p.size(), false);
        });
    };
    return pre_tokenizer_of(std::move(split));
}

}  // namespace headlight::text
