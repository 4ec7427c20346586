// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"
#include "text/section.h"
#include "text/unicode/utf8.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace headlight::text {

/// Cuts the spans of a section into words. Const and free of state.
class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    virtual void split(Section&) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

/// A pre-tokenizer that does what the function does.
template <class F>
PreTokenizerPtr pre_tokenizer_of(F function) {
    class Of final : public PreTokenizer {
    public:
        explicit Of(F f) : function_(std::move(f)) {}
        void split(Section& s) const override { function_(s); }

    private:
        F function_;
    };
    return std::make_unique<Of>(std::move(function));
}

/// Builds what a value of the key "pre_tokenizer" describes; Error for a type that is not known.
PreTokenizerPtr make_pre_tokenizer(const Field&);

PreTokenizerPtr make_byte_level(const Field&);
PreTokenizerPtr make_bert_pre_tokenizer();
PreTokenizerPtr make_whitespace();
PreTokenizerPtr make_whitespace_split();
PreTokenizerPtr make_split(const Field&);
PreTokenizerPtr make_digits(const Field&);
PreTokenizerPtr make_fixed_length(const Field&);
PreTokenizerPtr make_punctuation(const Field&);
PreTokenizerPtr make_metaspace(const Field&);
PreTokenizerPtr make_char_delimiter_split(const Field&);
PreTokenizerPtr make_pre_tokenizer_sequence(const Field&);

/// What happens to the matches of a split; names as in `tokenizers`.
enum class Behavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
Behavior parse_behavior(const Field&);

/// A part of a span: a match, or what lies between two.
struct Part {
    Span span;
    bool match = false;
};

/// Turns the parts of one span into words, adding them to `out`; empty ones are left out.
void apply_behavior(const std::vector<Part>& parts, Behavior, std::vector<Span>& out);

/// Cuts every span of the section into the parts that `cut(span, parts)` adds, and those into words.
template <class F>
void cut_spans(Section& s, Behavior behavior, F cut) {
    std::vector<Span> out;
    std::vector<Part> parts;
    for (const Span span : s.spans) {
        parts.clear();
        cut(span, parts);
        apply_behavior(parts, behavior, out);
    }
    s.spans = std::move(out);
}

/// The same at single characters that `is_match` picks.
template <class F>
void cut_at_characters(Section& s, Behavior behavior, F is_match) {
    cut_spans(s, behavior, [&](Span span, std::vector<Part>& parts) {
        std::uint32_t rest = span.begin;
        for (std::size_t at = span.begin; at < span.end;) {
            const auto first = static_cast<std::uint32_t>(at);
            if (!is_match(utf8::next(s.text, at))) continue;
            const auto behind = static_cast<std::uint32_t>(at);
            if (rest < first) parts.push_back({{rest, first}, false});
            parts.push_back({{first, behind}, true});
            rest = behind;
        }
        if (rest < span.end) parts.push_back({{rest, span.end}, false});
    });
}

}  // namespace headlight::text
