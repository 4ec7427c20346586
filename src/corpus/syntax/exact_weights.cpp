// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/syntax/exact_weights.h"

#include "headlight/base/error.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "headlight/trace/encoded.h"

#include <algorithm>
#include <string>
#include <utility>

namespace headlight::corpus {
namespace {

/// Attention between the words of a sentence by one head.
class OneHead final : public trace::PatternReader {
public:
    OneHead(HeadId head, const WordTokens& tokens, std::vector<double>& attention)
        : head_(head), tokens_(tokens), attention_(attention) {}
    void pattern(HeadId head, const trace::HeadPattern& pattern) override {
        if (head == head_) word_attention(pattern.weights, pattern.keys, tokens_, attention_);
    }

private:
    HeadId head_;
    const WordTokens& tokens_;
    std::vector<double>& attention_;
};

}  // namespace

const ExactWeights::Sentence& ExactWeights::sentence(std::int64_t number) {
    const auto [at, is_new] = sentences_.try_emplace(number);
    Sentence& sentence = at->second;
    if (!is_new) return sentence;
    const model::ModelConfig& config = model_->config();
    if (head_.layer.value < 0 || head_.layer.value >= config.n_layers || head_.head.value < 0 ||
        head_.head.value >= config.n_heads)
        throw Error({.problem = "The model has no such head",
                     .item = config.name,
                     .found = "layer " + std::to_string(head_.layer.value) + ", head " + std::to_string(head_.head.value)});
    const Chunk& chunk = texts_.chunk(number);
    const Text& text = texts_.text(chunk.text);
    const IndexedWords words = indexed_words({.number = number,
                                              .text = text,
                                              .first_byte = chunk.first_byte,
                                              .first_query = chunk.first_query,
                                              .whole = chunk.whole,
                                              .encoding = chunk.encoding});
    const WordTokens tokens = word_tokens(words.text, chunk.encoding, chunk.first_byte);
    sentence.words = words.text.words.size();
    OneHead reader(head_, tokens, sentence.attention);
    trace::EncodedText encoded{.text = bytes_of(chunk, text), .encoding = chunk.encoding};
    const trace::CapturePlan plan{.globs = {"blocks.0.hook_resid_pre"}, .overview = trace::no_overview};
    trace::run_encoded(model_, tokenizer_, std::move(encoded), plan, cancel_, &reader);
    return sentence;
}

double ExactWeights::weight(std::int64_t text, std::int32_t word, std::int32_t target) {
    const Sentence& of = sentence(text);
    if (std::cmp_greater_equal(std::max(word, target), of.words) || std::min(word, target) < 0)
        throw Error({.problem = "The store's texts and results do not fit",
                     .item = "chunk " + std::to_string(text),
                     .expected = "two of " + std::to_string(of.words) + " words",
                     .found = std::to_string(word) + " and " + std::to_string(target)});
    return of.attention.at(static_cast<std::size_t>(word) * of.words + static_cast<std::size_t>(target));
}

void ExactWeights::complete(WordQuery::Case& one, const std::vector<std::int32_t>& targets) {
    const bool hit = one.hit();
    if (one.attended >= 0) one.attended_weight = weight(one.text, one.word, one.attended);
    one.weight = weight(one.text, one.word, one.target);
    if (hit) return;
    for (const std::int32_t target : targets)
        if (const double here = weight(one.text, one.word, target); here > one.weight) {
            one.target = target;
            one.weight = here;
        }
}

}  // namespace headlight::corpus
