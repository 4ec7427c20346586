// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/corpus/probe/attention_arcs.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "headlight/model/same_products.h"
#include "headlight/trace/encoded.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

constexpr std::int64_t kTokensOfAPass = 1024;

/// The words of a text, and behind them its special tokens in front and behind as if they were words. Returns how many.
std::int64_t add_special(WordTokens& tokens, const headlight::text::Encoding& encoding) {
    const auto last = encoding.size() - 1;
    std::int64_t count = 0;
    const auto add = [&](std::int64_t position) {
        const auto p = static_cast<std::size_t>(position);
        if (!encoding.special[p] || !tokens.of_token[p].empty()) return;
        tokens.of_token[p].push_back(static_cast<std::int32_t>(tokens.of_word.size()));
        tokens.of_word.push_back({position});
        ++count;
    };
    if (last >= 0) add(0);
    if (last > 0) add(last);
    return count;
}

/// Fills a sentence's attention while its pass has the patterns.
class AllHeads final : public trace::PatternReader {
public:
    AllHeads(WordTokens tokens, std::int64_t heads_of_layer, ArcSentence& into)
        : tokens_(std::move(tokens)), heads_of_layer_(heads_of_layer), into_(into) {}
    void pattern(HeadId head, const trace::HeadPattern& pattern) override {
        std::vector<double> attention;
        word_attention(pattern.weights, pattern.keys, tokens_, attention);
        const std::int64_t number = head.layer.value * heads_of_layer_ + head.head.value;
        float* const to = into_.attention.data() + number * std::ssize(attention);
        std::ranges::transform(attention, to, [](double x) { return static_cast<float>(x); });
    }

private:
    WordTokens tokens_;
    std::int64_t heads_of_layer_;
    ArcSentence& into_;
};

}  // namespace

std::vector<ArcSentence> gather_word_attention(TextStore& texts, std::span<const std::int64_t> chunks,
                                               const std::shared_ptr<const model::Model>& model,
                                               const std::shared_ptr<const headlight::text::Tokenizer>& tokenizer,
                                               const CancelToken& cancel, const Progress& progress) {
    const model::ModelConfig& config = model->config();
    const trace::CapturePlan plan{.globs = {"blocks.0.hook_resid_pre"}, .overview = trace::no_overview};
    const std::int64_t available = trace::forecast(config, 1, plan).available;
    const model::SameProducts same(model::SameProducts::Of::row);  // a text's numbers must not depend on others in its pass
    std::vector<ArcSentence> out(chunks.size());
    std::deque<AllHeads> readers;
    std::vector<trace::PackedText> pack;
    std::int64_t tokens = 0, bytes = 0, done = 0;
    const auto run = [&] {
        if (pack.empty()) return;
        if (progress) progress({"Reading attention", "text", done, std::ssize(chunks)});
        done += std::ssize(pack);
        trace::run_packed(model, tokenizer, std::move(pack), plan, cancel);
        pack.clear();
        readers.clear();
        tokens = 0;
    };
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const Chunk chunk = texts.chunk(chunks[i]);
        const Text& text = texts.text(chunk.text);
        if (!chunk.whole)
            throw Error({.problem = "Attention between words needs whole texts",
                         .item = "text " + text.id,
                         .found = "a text of several chunks",
                         .hint = "Run the store with a larger --context"});
        if (tokens > 0 && tokens + chunk.encoding.size() > kTokensOfAPass) run();
        WordTokens of = word_tokens(text, chunk.encoding, chunk.first_byte);
        ArcSentence& sentence = out[i];
        for (const Word& word : text.words) {
            sentence.heads.push_back(word.head);
            sentence.punctuation.push_back(word.relation == "punct");
        }
        sentence.special = add_special(of, chunk.encoding);
        const std::int64_t weights = config.n_layers * config.n_heads * sentence.places() * sentence.places();
        bytes += weights * static_cast<std::int64_t>(sizeof(float));
        if (bytes > available)
            throw Error({.problem = "The attention between the words of these texts does not fit into memory",
                         .expected = bytes_text(static_cast<std::uint64_t>(available)),
                         .found = "more by text " + std::to_string(i + 1) + " of " + std::to_string(chunks.size()),
                         .hint = "Use fewer texts"});
        sentence.attention.resize(static_cast<std::size_t>(weights));
        tokens += chunk.encoding.size();
        pack.push_back({.text = {.text = bytes_of(chunk, text), .encoding = chunk.encoding},
                        .reader = &readers.emplace_back(std::move(of), config.n_heads, sentence)});
    }
    run();
    return out;
}

}  // namespace headlight::corpus
