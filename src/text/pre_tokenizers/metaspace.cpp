// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pre_tokenizers/pre_tokenizer.h"
#include "text/unicode/utf8.h"

namespace headlight::text {
namespace {

/// SentencePiece's way: a space becomes a visible character, which stays with the word after it.
class Metaspace final : public PreTokenizer {
public:
    explicit Metaspace(const Field& f) : replacement_(f.string_or("replacement", "▁")), split_(f.boolean_or("split", true)) {
        if (utf8::count(replacement_) != 1) f.at("replacement").fail_expected("one character");
        std::size_t at = 0;
        character_ = utf8::next(replacement_, at);
        const bool old_flag = f.boolean_or("add_prefix_space", true);  // files written before prepend_scheme
        const std::string scheme = f.string_or("prepend_scheme", old_flag ? "always" : "never");
        if (scheme != "always" && scheme != "first" && scheme != "never")
            f.at("prepend_scheme").fail_expected("always, first or never");
        if (!old_flag && scheme != "never")
            f.at("prepend_scheme").fail("This conflicts with add_prefix_space, which is false", "never", scheme);
        always_ = scheme == "always";
        first_ = scheme == "first";
    }

    void split(Section& s) const override {
        replace_spaces(s);
        if (split_) cut_at_characters(s, Behavior::MergedWithNext, [this](char32_t c) { return c == character_; });
    }

private:
    bool prepends(const Section& s, Span p) const {
        const std::string_view text = std::string_view(s.text).substr(p.begin, p.size());
        if (text.empty() || text.front() == ' ' || text.starts_with(replacement_)) return false;
        // Where a normalizer stripped the beginning and another stage cut after that, the reference prepends nothing.
        return always_ || (first_ && (p.begin == 0 ? s.origin : s.at(p.begin).begin) == 0);
    }

    void replace_spaces(Section& s) const {
        Rewrite rewrite(s);
        std::vector<Span> moved;
        std::uint32_t grown = 0;
        const auto longer = static_cast<std::uint32_t>(replacement_.size());
        for (const Span p : s.spans) {
            const std::uint32_t begin = p.begin + grown;
            if (prepends(s, p)) {
                rewrite.replace(p.begin, p.begin, replacement_, s.at(p.begin));
                grown += longer;
            }
            for (std::size_t at = p.begin; at < p.end; ++at) {
                if (s.text[at] != ' ') continue;
                rewrite.replace(at, at + 1, replacement_, s.at(at));
                grown += longer - 1;
            }
            moved.push_back({begin, p.end + grown});
        }
        rewrite.apply();
        s.spans = std::move(moved);
    }

    std::string replacement_;
    char32_t character_ = 0;
    bool split_;
    bool always_ = false;
    bool first_ = false;
};

}  // namespace

PreTokenizerPtr make_metaspace(const Field& f) { return std::make_unique<Metaspace>(f); }

}  // namespace headlight::text
