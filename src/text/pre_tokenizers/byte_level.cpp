// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/pattern/scanners.h"
#include "text/pre_tokenizers/pre_tokenizer.h"

#include <algorithm>

namespace headlight::text {
namespace {

class ByteLevelPreTokenizer final : public PreTokenizer {
public:
    explicit ByteLevelPreTokenizer(const Field& f)
        : add_prefix_space_(f.boolean_or("add_prefix_space", true)), use_regex_(f.boolean_or("use_regex", true)) {}

    void split(Section& s) const override {
        if (add_prefix_space_) add_spaces(s);
        if (use_regex_) cut(s);
        s.byte_level = true;
    }

private:
    /// A space before each span that has none; it counts as the span's first character.
    static void add_spaces(Section& s) {
        const auto lacks = [&](Span p) { return s.text[p.begin] != ' '; };
        if (std::none_of(s.spans.begin(), s.spans.end(), lacks)) return;
        Rewrite rewrite(s);
        std::vector<Span> moved;
        std::uint32_t added = 0;
        for (const Span p : s.spans) {
            const std::uint32_t begin = p.begin + added;
            if (lacks(p)) {
                rewrite.replace(p.begin, p.begin, " ", s.at(p.begin));
                ++added;
            }
            moved.push_back({begin, p.end + added});
        }
        rewrite.apply();
        s.spans = std::move(moved);
    }

    static void cut(Section& s) {
        std::vector<Span> out;
        out.reserve(s.text.size() / 4 + s.spans.size());
        for (const Span p : s.spans) {
            const std::size_t first = out.size();
            scanners::gpt2(std::string_view(s.text).substr(p.begin, p.size()), out);
            for (std::size_t i = first; p.begin > 0 && i < out.size(); ++i) {
                out[i] = {out[i].begin + p.begin, out[i].end + p.begin};
            }
        }
        s.spans = std::move(out);
    }

    bool add_prefix_space_;
    bool use_regex_;
};

}  // namespace

PreTokenizerPtr make_byte_level(const Field& f) { return std::make_unique<ByteLevelPreTokenizer>(f); }

}  // namespace headlight::text
