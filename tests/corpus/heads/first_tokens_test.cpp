// SPDX-License-Identifier: GPL-3.0-or-later
// Variability over a corpus: against the one of all texts at once, its interval against texts that are drawn again.
#include "headlight/corpus/heads/first_tokens.h"

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/statistics/quantile.h"
#include "tests/corpus/runs.h"

#include <cmath>

namespace headlight::corpus {
namespace {

constexpr HeadsShape kBuiltIn{.layers = 6, .heads = 8, .causal = true};

std::vector<std::string> first_sentences(std::size_t count) {
    std::ifstream in(source_file("tests/fixtures/text/sentences.txt"));
    std::vector<std::string> out;
    for (std::string line; out.size() < count && std::getline(in, line);) out.push_back(line);
    return out;
}

const Runs& some_runs() {
    static const Runs* const runs = [] {
        auto* made = new Runs(built_in_model());
        made->run_all(first_sentences(12));
        made->run_all({"Go", "Call me."});  // fewer than ten tokens
        return made;
    }();
    return *runs;
}

TEST(FirstTokens, HaveTheVariabilityOfAllTextsAtOnce) {
    const Runs& runs = some_runs();
    FirstTokens first(kBuiltIn, 0);
    analyze::HeadAverages averages;
    std::int64_t queries = 0;
    for (std::int64_t i = 0; i < runs.size(); ++i) {
        runs.add(first, i);
        if (runs.trace(i).tokens() > 1) averages.add(runs.trace(i));
        queries += std::min<std::int64_t>(runs.trace(i).tokens(), 10) - 1;
    }
    EXPECT_EQ(std::ssize(first.chunks()), averages.texts());
    EXPECT_EQ(first.queries(), queries);
    const analyze::HeadTable table = averages.table();
    const auto at = std::ranges::find(table.measures, "variability", &analyze::MeasureInfo::id) - table.measures.begin();
    for (std::int64_t head = 0; head < 48; ++head)
        EXPECT_NEAR(first.variability(head).value(), table.values[static_cast<std::size_t>(at)](head / 8, head % 8), 1e-6)
            << head;
}

TEST(FirstTokens, AreTheSameBytesInAnyOrderAndOfTheTextsThatAreDrawn) {
    for (const std::int64_t most : {3, 100}) expect_the_same_bytes_in_any_order(some_runs(), FirstTokens(kBuiltIn, 7, most));
    const FirstTokens all = some_runs().filled(FirstTokens(kBuiltIn, 7)), three = some_runs().filled(FirstTokens(kBuiltIn, 7, 3));
    std::vector<std::int64_t> by_draw = all.chunks();
    std::ranges::sort(by_draw, {}, [](std::int64_t chunk) { return draw(7, chunk, 0); });
    by_draw.resize(3);
    EXPECT_EQ(three.chunks(), by_draw);
    // A later chunk of a text is not its beginning.
    TextRun later = some_runs().text_run(0);
    later.begins = false;
    EXPECT_EQ(all.patterns_of(later), nullptr);
}

// Identical texts do not vary; texts that attend to one of two keys, half of them each, do by exactly a half.
TEST(FirstTokens, VaryBetweenNothingAndAHalf) {
    const analyze::FirstPairs pairs;
    std::vector<float> left(static_cast<std::size_t>(pairs.size())), right = left;
    for (std::int64_t i = 2; i < 4; ++i) {
        left[static_cast<std::size_t>(pairs.at(i, 1))] = 1;
        right[static_cast<std::size_t>(pairs.at(i, 2))] = 1;
    }
    std::vector<float> sink = left;
    for (std::int64_t i = 0; i < 4; ++i) sink[static_cast<std::size_t>(pairs.at(i, 0))] = 1;
    using Texts = std::vector<analyze::FirstWeights>;
    const analyze::FirstWeights a{left.data(), 4}, b{right.data(), 4}, c{sink.data(), 4};
    EXPECT_EQ(analyze::variability(Texts{a, c}, pairs).value(), 0) << "attention to the first token does not count";
    EXPECT_EQ(analyze::variability(Texts{a, a, a}, pairs).value(), 0);
    EXPECT_DOUBLE_EQ(analyze::variability(Texts{a, b}, pairs).value(), 0.5);
    EXPECT_DOUBLE_EQ(analyze::variability(Texts{a, a, a, b}, pairs).value(), 0.375);
    EXPECT_TRUE(std::isnan(analyze::variability(Texts{a}, pairs).value())) << "one text does not differ from itself";
}

// The terms of a text make the ratio of drawn texts that of their own mean, to first order.
TEST(FirstTokens, TheIntervalIsThatOfTextsDrawnAgain) {
    constexpr std::int64_t texts = 60, draws = 400;
    std::mt19937 random(5);
    std::gamma_distribution<float> spread(0.7F);
    const analyze::FirstPairs pairs;
    std::vector<std::vector<float>> weights;
    for (std::int64_t t = 0; t < texts; ++t) {
        std::vector<float>& of = weights.emplace_back(static_cast<std::size_t>(pairs.size()));
        for (std::int64_t i = 0; i < analyze::kFirstTokens; ++i) {
            float sum = 0;
            for (std::int64_t j = 0; j <= i; ++j) sum += of[static_cast<std::size_t>(pairs.at(i, j))] = spread(random);
            for (std::int64_t j = 0; j <= i; ++j) of[static_cast<std::size_t>(pairs.at(i, j))] /= sum;
        }
    }
    std::vector<analyze::FirstWeights> all;
    for (const auto& of : weights) all.push_back({of.data(), analyze::kFirstTokens});
    const analyze::VariabilityTerms terms = analyze::variability(all, pairs);
    std::vector<TextTerm> of_texts;
    for (std::size_t t = 0; t < all.size(); ++t) of_texts.push_back({terms.differences[t], terms.weights[t]});
    const Interval interval = Bootstrap(texts, {.draws = draws}).mean(of_texts);
    std::vector<double> drawn;
    for (std::int64_t d = 0; d < draws; ++d) {
        std::vector<analyze::FirstWeights> again;
        for (std::int64_t t = 0; t < texts; ++t) again.push_back(all[random() % texts]);
        drawn.push_back(analyze::variability(again, pairs).value());
    }
    std::ranges::sort(drawn);
    const double low = quantile(drawn, 0.025), high = quantile(drawn, 0.975), middle = quantile(drawn, 0.5);
    EXPECT_DOUBLE_EQ(interval.mean, terms.value());
    EXPECT_NEAR(interval.high - interval.low, high - low, 0.2 * (high - low));
    // The mean of drawn texts is nearer to them than that of all: the second order, which the interval leaves out.
    EXPECT_LT(middle, interval.mean);
    EXPECT_NEAR(middle, interval.mean, 0.03);
}

}  // namespace
}  // namespace headlight::corpus
