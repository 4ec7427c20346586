// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/word_tokens.h"

#include <algorithm>

namespace headlight::corpus {

WordTokens word_tokens(const Text& text, const text::Encoding& encoding, std::int64_t first_byte) {
    WordTokens out;
    out.of_word.resize(text.words.size());
    out.of_token.resize(static_cast<std::size_t>(encoding.size()));
    for (std::size_t t = 0; t < out.of_token.size(); ++t) {
        if (encoding.special[t] || encoding.sequence[t] != 0) continue;
        const std::int64_t begin = encoding.offsets[t].begin + first_byte, end = encoding.offsets[t].end + first_byte;
        // Ends of words do not decrease, so those before the token are skipped by bisection.
        auto word = std::ranges::upper_bound(text.words, begin, {}, &Word::end);
        for (; word != text.words.end() && word->begin < end; ++word) {
            const auto w = word - text.words.begin();
            out.of_word[static_cast<std::size_t>(w)].push_back(static_cast<std::int64_t>(t));
            out.of_token[t].push_back(static_cast<std::int32_t>(w));
        }
        out.shared += out.of_token[t].size() > 1;
    }
    out.without = std::ranges::count_if(out.of_word, [](const auto& tokens) { return tokens.empty(); });
    return out;
}

void word_attention(std::span<const float> pattern, std::int64_t keys, const WordTokens& tokens, std::vector<double>& out) {
    const std::size_t n = tokens.of_word.size();
    out.assign(n * n, 0);
    for (std::size_t w = 0; w < n; ++w) {
        double* row = out.data() + w * n;
        const double share = tokens.of_word[w].empty() ? 0 : 1.0 / static_cast<double>(tokens.of_word[w].size());
        for (const std::int64_t query : tokens.of_word[w]) {
            const float* weights = pattern.data() + query * keys;
            for (std::size_t key = 0; key < tokens.of_token.size(); ++key) {
                const std::vector<std::int32_t>& words = tokens.of_token[key];
                if (words.empty()) continue;
                const double part = share * static_cast<double>(weights[key]) / static_cast<double>(words.size());
                for (const std::int32_t word : words) row[word] += part;
            }
        }
    }
}

}  // namespace headlight::corpus
