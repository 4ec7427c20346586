// SPDX-License-Identifier: GPL-3.0-or-later
// BERT's basic cleaning: https://github.com/google-research/bert (tokenization.py, BasicTokenizer).
#include "text/normalizers/normalizer.h"
#include "text/unicode/unicode.h"

#include <algorithm>
#include <array>

namespace headlight::text {
namespace {

class BertNormalizer final : public Normalizer {
public:
    explicit BertNormalizer(const Field& f)
        : clean_(f.boolean_or("clean_text", true)),
          chinese_(f.boolean_or("handle_chinese_chars", true)),
          lower_(f.boolean_or("lowercase", true)),
          strip_(f.boolean_or("strip_accents", lower_)) {}

    void normalize(Section& s) const override {
        // The ASCII part first: what it drops may stand between two marks that then have to be put in order.
        if (clean_) clean_ascii(s);
        if (clean_ || chinese_ || strip_) rewrite_runs(s, false, [this](std::vector<Char>& run) { change(run); });
        if (lower_) lowercase(s);
    }

private:
    static void clean_ascii(Section& s) {
        bool drops = false;
        for (char& b : s.text) {
            if (b == '\t' || b == '\n' || b == '\r') b = ' ';
            drops = drops || (static_cast<unsigned char>(b) < 0x20) || b == 0x7F;
        }
        if (!drops) return;
        Rewrite rewrite(s);
        for (std::size_t i = 0; i < s.text.size(); ++i) {
            const auto b = static_cast<unsigned char>(s.text[i]);
            if (b < 0x20 || b == 0x7F) rewrite.replace(i, i + 1, "", {});
        }
        rewrite.apply();
    }

    void change(std::vector<Char>& run) const {
        if (clean_) {
            std::erase_if(run, [](const Char& ch) { return unicode::is_invisible(ch.c); });
            for (Char& ch : run) {
                if (unicode::is_space(ch.c)) ch.c = ' ';
            }
        }
        if (chinese_ && std::any_of(run.begin(), run.end(), [](const Char& ch) { return unicode::is_chinese(ch.c); })) {
            std::vector<Char> spaced;
            for (const Char& ch : run) {
                const bool ideograph = unicode::is_chinese(ch.c);
                if (ideograph) spaced.push_back({' ', ch.align});
                spaced.push_back(ch);
                if (ideograph) spaced.push_back({' ', ch.align});
            }
            run = std::move(spaced);
        }
        if (strip_ && !run.empty()) {
            unicode::normalize(run, unicode::Form::NFD);
            std::erase_if(run, [](const Char& ch) { return unicode::is_nonspacing(ch.c); });
        }
    }

    bool clean_;
    bool chinese_;
    bool lower_;
    bool strip_;
};

}  // namespace

void lowercase(Section& s) {
    for (char& b : s.text) {
        if (b >= 'A' && b <= 'Z') b = static_cast<char>(b | 0x20);
    }
    rewrite_runs(s, false, [](std::vector<Char>& run) {
        const auto same = [](const Char& ch) { return ch.c != 0x130 && unicode::simple_lower(ch.c) == ch.c; };
        if (std::all_of(run.begin(), run.end(), same)) return;
        std::vector<Char> out;
        for (const Char& ch : run) {
            std::array<char32_t, 2> low{};
            const std::size_t n = unicode::lower(ch.c, low);
            for (std::size_t i = 0; i < n; ++i) out.push_back({low[i], ch.align});
        }
        run = std::move(out);
    });
}

NormalizerPtr make_bert_normalizer(const Field& f) { return std::make_unique<BertNormalizer>(f); }
NormalizerPtr make_lowercase() { return normalizer_of(lowercase); }

}  // namespace headlight::text
