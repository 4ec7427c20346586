// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizers/pre_tokenizer.h"

namespace headlight::text {
namespace {

class Split final : public PreTokenizer {
public:
    Split(PatternPtr pattern, Behavior behavior, bool invert)
        : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

    void split(Section& s) const override {
        std::vector<Span> out;
        std::vector<Span> matches;
        std::vector<Part> parts;
        for (const Span p : s.spans) {
            matches.clear();
            parts.clear();
            pattern_->find(std::string_view(s.text).substr(p.begin, p.size()), s.budget, matches);
            std::uint32_t rest = 0;
            const auto add = [&](std::uint32_t begin, std::uint32_t end, bool match) {
                parts.push_back({{p.begin + begin, p.begin + end}, match != invert_});
            };
            for (const Span m : matches) {
                if (rest < m.begin) add(rest, m.begin, false);
                add(m.begin, m.end, true);
                rest = m.end;
            }
            if (rest < p.size()) add(rest, p.size(), false);
            apply_behavior(parts, behavior_, out);
        }
        s.spans = std::move(out);
    }

private:
    PatternPtr pattern_;
    Behavior behavior_;
    bool invert_;
};

/// Cuts at a character and drops it.
class CharDelimiterSplit final : public PreTokenizer {
public:
    explicit CharDelimiterSplit(const Field& delimiter) {
        if (utf8::count(delimiter.string()) != 1) delimiter.fail_expected("one character");
        std::size_t at = 0;
        delimiter_ = utf8::next(delimiter.string(), at);
    }
    void split(Section& s) const override {
        std::vector<Span> out;
        std::vector<Part> parts;
        for (const Span p : s.spans) {
            parts.clear();
            parts_by_character(
                s.text, p, [this](char32_t c) { return c == delimiter_; }, parts);
            apply_behavior(parts, Behavior::Removed, out);
        }
        s.spans = std::move(out);
    }

private:
    char32_t delimiter_ = 0;
};

}  // namespace

PreTokenizerPtr make_char_delimiter_split(const Field& f) { return std::make_unique<CharDelimiterSplit>(f.at("delimiter")); }

PreTokenizerPtr make_split(const Field& f) {
    return std::make_unique<Split>(make_pattern(f.at("pattern")), parse_behavior(f.at("behavior")),
                                   f.boolean_or("invert", false));
}

}  // namespace headlight::text
