// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/first_tokens.h"

#include "corpus/heads/saved_heads.h"
#include "headlight/corpus/accumulate/examples.h"

#include <algorithm>

namespace headlight::corpus {
namespace {

HeadsShape shape_of_first(const Arrays& arrays) {
    const auto saved = arrays.get<std::int64_t>("variability.shape", {4});
    check_heads(arrays, "variability.shape", saved[0], saved[1]);
    if (saved[3] < 1) arrays.throw_damaged("variability.shape", "at least one text", std::to_string(saved[3]));
    return {.layers = saved[0], .heads = saved[1], .causal = saved[2] != 0};
}

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

FirstTokens::FirstTokens(const Arrays& arrays, std::uint64_t seed)
    : FirstTokens(shape_of_first(arrays), seed, arrays.get<std::int64_t>("variability.shape", {4})[3]) {
    load(arrays);
}

FirstTokens::Place FirstTokens::place_of(std::int64_t chunk) const { return {draw(seed_, chunk, 0), chunk}; }

void FirstTokens::keep(const Place& place, OfText text) {
    if (std::ssize(kept_) >= texts_ && kept_.rbegin()->first < place) return;
    kept_.insert_or_assign(place, std::move(text));
    if (std::ssize(kept_) > texts_) kept_.erase(std::prev(kept_.end()));
}

std::unique_ptr<TextPatterns> FirstTokens::patterns_of(const TextRun& run) const {
    if (!run.begins || run.tokens() < 2) return nullptr;
    if (std::ssize(kept_) >= texts_ && kept_.rbegin()->first < place_of(run.number)) return nullptr;
    return std::make_unique<FirstPatterns>(pairs(), shape_.layers * shape_.heads, shape_.heads, run.tokens());
}

void FirstTokens::add(const TextRun& run, TextPatterns* patterns) {
    if (patterns) keep(place_of(run.number), std::move(dynamic_cast<FirstPatterns&>(*patterns).of));
}

void FirstTokens::merge(const Accumulator& from) {
    for (const auto& [place, text] : dynamic_cast<const FirstTokens&>(from).kept_) keep(place, text);
}

std::vector<std::int64_t> FirstTokens::chunks() const {
    std::vector<std::int64_t> out;
    for (const auto& [place, text] : kept_) out.push_back(place.second);
    return out;
}

analyze::VariabilityTerms FirstTokens::variability(std::int64_t head) const {
    std::vector<analyze::FirstWeights> texts;
    for (const auto& [place, text] : kept_) texts.push_back({text.weights.data() + head * pairs().size(), text.tokens});
    return analyze::variability(texts, pairs());
}

std::int64_t FirstTokens::queries() const noexcept {
    std::int64_t sum = 0;
    for (const auto& [place, text] : kept_) sum += text.tokens - (shape_.causal ? 1 : 0);
    return sum;
}

void FirstTokens::save(Arrays& out) const {
    const std::int64_t shape[] = {shape_.layers, shape_.heads, shape_.causal ? 1 : 0, texts_};
    std::vector<std::int64_t> numbers = chunks(), tokens;
    std::vector<float> weights;
    for (const auto& [place, text] : kept_) {
        tokens.push_back(text.tokens);
        weights.insert(weights.end(), text.weights.begin(), text.weights.end());
    }
    const std::int64_t n = std::ssize(numbers);
    out.put<std::int64_t>("variability.shape", {4}, shape);
    out.put<std::int64_t>("variability.chunks", {n}, numbers);
    out.put<std::int64_t>("variability.tokens", {n}, tokens);
    out.put<float>("variability.weights", {n, shape_.layers, shape_.heads, pairs().size()}, weights);
}

void FirstTokens::load(const Arrays& in) {
    const auto numbers = in.get_chunks("variability.chunks", {-1});
    const std::int64_t n = std::ssize(numbers), step = shape_.layers * shape_.heads * pairs().size();
    const auto tokens = in.get_within<std::int64_t>("variability.tokens", {n}, 2, analyze::kFirstTokens);
    const auto weights = in.get<float>("variability.weights", {n, shape_.layers, shape_.heads, pairs().size()});
    for (std::int64_t i = 0; i < n; ++i)
        keep(place_of(numbers[static_cast<std::size_t>(i)]),
             {tokens[static_cast<std::size_t>(i)],
              std::vector<float>(weights.begin() + i * step, weights.begin() + (i + 1) * step)});
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
