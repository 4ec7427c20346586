// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/first_tokens.h"

#include "corpus/accumulate/archive.h"
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

class FirstPatterns final : public TextPatterns {
public:
    FirstPatterns(const analyze::FirstPairs& pairs, std::int64_t heads, std::int64_t of_layer, std::int64_t tokens)
        : pairs_(pairs), of_layer_(of_layer) {
        of.tokens = std::min(tokens, analyze::kFirstTokens);
        of.weights.resize(static_cast<std::size_t>(heads * pairs.size()));
    }
    void add(HeadId head, const trace::HeadPattern& pattern) override {
        float* to = of.weights.data() + (head.layer.value * of_layer_ + head.head.value) * pairs_.size();
        for (std::int64_t i = 0; i < of.tokens; ++i)
            std::copy_n(pattern.row(i).data(), std::min(pairs_.keys(i), of.tokens), to + pairs_.at(i, 0));
    }

    FirstTokens::OfText of;

private:
    analyze::FirstPairs pairs_;
    std::int64_t of_layer_;
};

}  // namespace

std::pair<std::uint64_t, std::int64_t> FirstTokens::place_of(std::int64_t chunk) const { return {draw(seed_, chunk, 0), chunk}; }

bool FirstTokens::keeps(std::int64_t chunk) const {
    return std::ssize(kept_) < texts_ || place_of(chunk) < place_of(kept_.back().chunk);
}

std::unique_ptr<TextPatterns> FirstTokens::patterns_of(const TextRun& run) const {
    if (!run.begins || run.tokens() < 2) return nullptr;
    if (!keeps(run.number)) return nullptr;
    auto patterns = std::make_unique<FirstPatterns>(pairs(), shape_.layers * shape_.heads, shape_.heads, run.tokens());
    patterns->of.chunk = run.number;
    return patterns;
}

void FirstTokens::add(const TextRun& run, TextPatterns* patterns) {
    if (!patterns || !keeps(run.number)) return;
    add_in_order(
        kept_, {std::move(dynamic_cast<FirstPatterns&>(*patterns).of)}, [this](const OfText& of) { return place_of(of.chunk); },
        texts_);
}

std::vector<std::int64_t> FirstTokens::chunks() const {
    std::vector<std::int64_t> out;
    for (const OfText& text : kept_) out.push_back(text.chunk);
    return out;
}

analyze::VariabilityTerms FirstTokens::variability(std::int64_t head) const {
    std::vector<analyze::FirstWeights> texts;
    for (const OfText& text : kept_) texts.push_back({text.weights.data() + head * pairs().size(), text.tokens});
    return analyze::variability(texts, pairs());
}

std::int64_t FirstTokens::queries() const noexcept {
    std::int64_t sum = 0;
    for (const OfText& text : kept_) sum += text.tokens - (shape_.causal ? 1 : 0);
    return sum;
}

void FirstTokens::stored(Archive& a) {
    a.heads("variability.shape", shape_.layers, shape_.heads, shape_.causal, texts_);
    if (a.loads() && texts_ < 1) a.in().throw_damaged("variability.shape", "at least one text", std::to_string(texts_));
    a.rows(
        kept_, [this](const OfText& of) { return place_of(of.chunk); }, texts_,
        [&](StoredRows<OfText>& text) {
            text.column<std::int64_t>("variability.chunks", {}, a.chunk(&OfText::chunk))
                .column<std::int64_t>("variability.tokens", {}, within(2, &OfText::tokens, analyze::kFirstTokens))
                .column<float>("variability.weights", {shape_.layers, shape_.heads, pairs().size()}, &OfText::weights);
        });
}

AccumulatorKind variability_kind() {
    return {
        .id = "variability",
        .title = "Variability of heads",
        .note = "attention among the first ten tokens of up to 500 texts (Vig & Belinkov 2019): 32 kB a text of GPT-2 small",
        .usual = true,
        .of_treebank = false,
        .make =
            [](const AccumulatorContext& context) {
                const model::ModelConfig& c = context.config;
                return new_accumulator(FirstTokens({.layers = c.n_layers, .heads = c.n_heads, .causal = c.causal}, context.seed));
            },
        .open = [](const Arrays& arrays, std::uint64_t seed) { return new_accumulator(FirstTokens(arrays, seed)); }};
}

}  // namespace headlight::corpus
