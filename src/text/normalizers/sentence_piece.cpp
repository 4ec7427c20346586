// SPDX-License-Identifier: GPL-3.0-or-later
// What SentencePiece does to a text before it cuts it (github.com/google/sentencepiece, normalizer.cc): the longest entry
// of the table first, white space at the ends and repeated white space away, one in front, all of it as "▁".
#include "text/normalizers/charsmap.h"
#include "text/normalizers/normalizer.h"
#include "text/unicode/utf8.h"

#include <algorithm>
#include <array>
#include <functional>

namespace headlight::text {
namespace {

constexpr char32_t kSpaceMark = U'▁';

class SentencePiece final : public Normalizer {
public:
    explicit SentencePiece(const Field& f)
        : prefix_(f.boolean_or("add_dummy_prefix", true)),
          remove_(f.boolean_or("remove_extra_whitespaces", true)),
          escape_(f.boolean_or("escape_whitespaces", true)),
          suffix_(f.boolean_or("treat_whitespace_as_suffix", false)),
          every_(f.boolean_or("begins_after_added_tokens", false)) {
        if (const auto map = f.find("precompiled_charsmap")) map_ = Charsmap(*map);
        if (const auto symbols = f.find("user_defined_symbols"))
            for (const Field& symbol : symbols->items())
                if (!symbol.string().empty()) symbols_[static_cast<unsigned char>(symbol.string()[0])].push_back(symbol.string());
        for (auto& list : symbols_) std::ranges::sort(list, std::greater{}, &std::string::size);
    }

    void normalize(Section& s) const override {
        const std::string_view text = s.text;
        // Behind an added token a space is one between words, and stays; or a text begins there.
        const bool begins = every_ || s.origin == 0;
        std::size_t at = 0;
        while (remove_ && begins && at < text.size()) {
            const auto [size, put] = step(text.substr(at));
            if (put != " ") break;
            at += size;
        }
        std::vector<Char> out;
        const char32_t space = escape_ ? kSpaceMark : U' ';
        const bool first = begins && at < text.size();
        if (first && prefix_ && !suffix_) out.push_back({space, s.at(at)});
        bool after_space = remove_ && begins;
        while (at < text.size()) {
            auto [size, put] = step(text.substr(at));
            while (after_space && put.starts_with(' ')) put.remove_prefix(1);
            if (!put.empty()) {
                s.may_become(out.size() + put.size() / 4);
                const Align align{s.at(at).begin, s.at(at + size - 1).end};
                for (std::size_t i = 0; i < put.size();) {
                    const char32_t c = utf8::next(put, i);
                    out.push_back({c == U' ' ? space : c, align});
                }
                after_space = put.ends_with(' ');
            }
            at += size;
            after_space = after_space && remove_;
        }
        while (remove_ && !out.empty() && out.back().c == space) out.pop_back();
        if (first && prefix_ && suffix_ && !out.empty()) out.push_back({space, out.back().align});
        Rewrite rewrite(s);
        rewrite.replace(0, s.text.size(), out);
        rewrite.apply();
    }

    /// A symbol that a user defined is kept as it is.
    void normalize_token(Section&) const override {}

private:
    struct Step {
        std::size_t size = 0;  ///< bytes that are read
        std::string_view put;
    };
    Step step(std::string_view text) const {
        for (const std::string& symbol : symbols_[static_cast<unsigned char>(text.front())])
            if (text.starts_with(symbol)) return {symbol.size(), text.substr(0, symbol.size())};
        if (const auto found = map_.longest(text)) return {found->size, found->replacement};
        const std::size_t size = utf8::length(text.front());
        return {size, text.substr(0, size)};
    }

    Charsmap map_;
    std::array<std::vector<std::string>, 256> symbols_;  ///< by their first byte, longest first
    bool prefix_, remove_, escape_, suffix_, every_;
};

}  // namespace

NormalizerPtr make_sentence_piece(const Field& f) { return std::make_unique<SentencePiece>(f); }

}  // namespace headlight::text
