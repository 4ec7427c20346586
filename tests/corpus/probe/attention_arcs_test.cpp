// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/attention_arcs.h"

#include "headlight/base/error.h"
#include "headlight/corpus/syntax/word_tokens.h"
#include "tests/corpus/runs.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace headlight::corpus {
namespace {

using Weight = std::function<double(std::int64_t sentence, std::int64_t head, std::int64_t from, std::int64_t to)>;

ArcSentence arcs_of(std::int64_t number, std::vector<std::int32_t> tree, std::int64_t special, std::int64_t heads,
                    const Weight& weight) {
    ArcSentence sentence{.attention = {}, .special = special, .heads = std::move(tree), .punctuation = {}};
    sentence.punctuation.assign(sentence.heads.size(), 0);
    for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t i = 0; i < sentence.places(); ++i)
            for (std::int64_t j = 0; j < sentence.places(); ++j)
                sentence.attention.push_back(static_cast<float>(weight(number, h, i, j)));
    return sentence;
}

/// Three sentences, three heads: (1 + sin(1 + 3 s + 5 h + 7 i + 11 j)) / (words + 2).
std::vector<ArcSentence> waves(std::int64_t special) {
    const std::vector<std::vector<std::int32_t>> trees = {{1, -1, 1, 2}, {-1, 0, 1}, {2, 2, -1, 4, 2}};
    std::vector<ArcSentence> out;
    for (std::int64_t s = 0; s < 3; ++s) {
        const auto& tree = trees[static_cast<std::size_t>(s)];
        out.push_back(arcs_of(s, tree, special, 3, [&](auto, auto h, auto i, auto j) {
            return (1 + std::sin(static_cast<double>(1 + 3 * s + 5 * h + 7 * i + 11 * j))) / static_cast<double>(tree.size() + 2);
        }));
    }
    return out;
}

double share(const std::vector<TextTerm>& terms) {
    double hits = 0, words = 0;
    for (const TextTerm& term : terms) hits += term.sum, words += term.weight;
    return hits / words;
}

/// Sentences of 6 words, each of which depends on a word that a formula picks; the first has the root.
std::vector<std::vector<std::int32_t>> six_word_trees(int count) {
    std::vector<std::vector<std::int32_t>> trees;
    for (int s = 0; s < count; ++s) {
        std::vector<std::int32_t> tree = {-1};
        for (int w = 1; w < 6; ++w) tree.push_back((s * 7 + w * 3 + s * w) % w);
        std::ranges::rotate(tree, tree.begin() + s % 6);
        for (std::int32_t& head : tree)
            if (head >= 0) head = (head + 6 - s % 6) % 6;
        trees.push_back(tree);
    }
    return trees;
}

// scipy.optimize.minimize(BFGS, gtol 1e-9) of the same objective in NumPy, from w = u = 0, a = b = 1, c = 0, lambda = 0.01.
TEST(AttentionArcs, OptimumIsThatOfScipy) {
    const std::vector<double> plain = {-1.850169, -1.986182, .729580, .528880, .777882, -.081349, 0, 0, -.310716},
                              special = {-1.026873, -1.900340, .230842,  1.894887, .911521,
                                         -1.095679, 1.998026,  2.186349, -.010478};
    for (const std::int64_t count : {0, 2}) {
        const ArcProbe probe = fit_arc_probe(waves(count), {.penalty = 0.01, .tolerance = 1e-8});
        EXPECT_TRUE(probe.converged);
        EXPECT_NEAR(probe.loss, count ? 1.1818223260 : 1.3062658916, 1e-8);
        std::vector<double> found = probe.to_head;
        found.insert(found.end(), probe.from_head.begin(), probe.from_head.end());
        found.insert(found.end(), {probe.first, probe.last, probe.root});
        for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], (count ? special : plain)[i], 1e-4) << i;
    }
}

TEST(AttentionArcs, GradientIsThatOfFiniteDifferences) {
    const std::vector<ArcSentence> sentences = waves(2);
    std::vector<double> x(9), gradient(9), unused(9);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::cos(static_cast<double>(i));
    arc_loss(sentences, 0.1, x, gradient);
    for (std::size_t i = 0; i < x.size(); ++i) {
        constexpr double kStep = 1e-6;
        std::vector<double> above = x, below = x;
        above[i] += kStep;
        below[i] -= kStep;
        const double slope = (arc_loss(sentences, 0.1, above, unused) - arc_loss(sentences, 0.1, below, unused)) / (2 * kStep);
        EXPECT_NEAR(gradient[i], slope, 1e-8) << i;
    }
}

TEST(AttentionArcs, AHeadThatAttendsToTheSyntacticHeadIsEnough) {
    std::vector<ArcSentence> sentences;
    for (const auto& tree : six_word_trees(30))
        sentences.push_back(arcs_of(std::ssize(sentences), tree, 1, 3, [&](auto s, auto h, auto i, auto j) {
            if (h != 1) return (1 + std::sin(static_cast<double>(s * 3 + h * 5 + i * 7 + j * j))) / 14;  // says nothing
            const std::int64_t to = i == 6 ? 6 : tree[static_cast<std::size_t>(i)] < 0 ? 6 : tree[static_cast<std::size_t>(i)];
            return j == to ? 1.0 : 0.0;
        }));
    const ArcProbe probe = fit_arc_probe(sentences, {.penalty = 1e-4});
    EXPECT_EQ(share(arc_hits(probe, sentences)), 1);
    EXPECT_GT(probe.to_head[1], 5);
    EXPECT_GT(probe.first, 0.1);
    for (const double other : {probe.to_head[0], probe.to_head[2], probe.from_head[0], probe.from_head[1], probe.from_head[2]})
        EXPECT_LT(std::abs(other), probe.to_head[1] / 3);
}

TEST(AttentionArcs, EvenHeadsAreAtChance) {
    std::vector<ArcSentence> sentences;
    for (const auto& tree : six_word_trees(30))
        sentences.push_back(arcs_of(0, tree, 0, 2, [](auto, auto, auto, auto) { return 1.0 / 6; }));
    const ArcProbe probe = fit_arc_probe(sentences);
    // One root in six words, and five other words of which each is as likely.
    EXPECT_NEAR(probe.loss, std::log(6), 1e-6);
    EXPECT_LT(share(arc_hits(probe, sentences)), 0.35);
}

TEST(AttentionArcs, CausalHeadsFindArcsInBothDirections) {
    // One head attends from a dependent to a word before it that it depends on, one from a word to its dependents before it.
    std::vector<ArcSentence> sentences;
    for (const auto& tree : six_word_trees(30))
        sentences.push_back(arcs_of(0, tree, 0, 2, [&](auto, auto h, auto i, auto j) {
            if (j >= i) return 0.0;
            return (h == 0 ? tree[static_cast<std::size_t>(i)] == j : tree[static_cast<std::size_t>(j)] == i) ? 0.8 : 0.0;
        }));
    const ArcProbe probe = fit_arc_probe(sentences, {.penalty = 1e-5});
    EXPECT_EQ(share(arc_hits(probe, sentences)), 1);
    EXPECT_GT(probe.to_head[0], 3);
    EXPECT_GT(probe.from_head[1], 3);
    EXPECT_LT(probe.from_head[0], 1);
}

TEST(AttentionArcs, OffsetsAreClampedAndPunctuationIsNotScored) {
    ArcSentence sentence = arcs_of(0, {1, 2, 3, -1, 3}, 0, 1, [](auto, auto, auto, auto) { return 0.2; });
    sentence.punctuation[4] = 1;
    const std::vector<ArcSentence> one = {sentence};
    EXPECT_EQ(best_arc_offset(one), 1);
    const TextTerm term = offset_hits(1, one).front();
    EXPECT_EQ(term.sum, 3);
    EXPECT_EQ(term.weight, 4);
    EXPECT_EQ(offset_hits(-1, one).front().sum, 0);
}

TEST(AttentionArcs, HasTheSameBitsOnAnyNumberOfThreads) {
    std::vector<ArcSentence> sentences;
    for (int i = 0; i < 20; ++i)
        for (ArcSentence& sentence : waves(2)) sentences.push_back(std::move(sentence));
    std::vector<ArcProbe> probes;
    for (const int n : {1, 3}) probes.push_back(on_threads(n, [&] { return fit_arc_probe(sentences); }));
    EXPECT_EQ(probes[0].to_head, probes[1].to_head);
    EXPECT_EQ(probes[0].loss, probes[1].loss);
}

TEST(AttentionArcs, RefusesWhatItCannotFitAndStopsWhereItIsCancelled) {
    std::vector<ArcSentence> sentences = waves(2);
    EXPECT_THROW(fit_arc_probe({}), Error);
    EXPECT_THROW(fit_arc_probe(sentences, {.penalty = -1}), Error);
    sentences.push_back(arcs_of(0, {-1, 0}, 0, 2, [](auto, auto, auto, auto) { return 0.5; }));
    EXPECT_THROW(fit_arc_probe(sentences), Error);  // two heads, not three
    sentences = waves(2);
    sentences[1].heads[1] = 1;
    EXPECT_THROW(fit_arc_probe(sentences), Error);
    sentences = waves(2);
    sentences[1].attention[1] = std::nanf("");
    EXPECT_THROW(fit_arc_probe(sentences), Error);
    const CancelToken cancel;
    EXPECT_THROW(fit_arc_probe(waves(2), {}, cancel, [&](const ProgressStep&) { cancel.cancel(); }), Cancelled);
}

struct GatheredArcs {
    test::TempFolder folder;
    RunSetup setup;
    GatheredArcs(const std::filesystem::path& model, std::int64_t context)
        : setup(run_setup(folder / "store", treebank_file(), {"words"}, opened(model))) {
        setup.texts.limit = 12;
        setup.options.context = context;
    }
    std::vector<ArcSentence> arcs(const std::vector<std::int64_t>& chunks) const {
        const Manifest manifest = open_store(setup);
        TextStore texts(setup.store, manifest, setup.tokenizer.get());
        return gather_word_attention(texts, chunks, setup.model, setup.tokenizer);
    }
};

TEST(AttentionArcs, GathersTheAttentionOfEveryHeadBetweenWords) {
    const GatheredArcs gathered(built_in_model(), 256);
    const std::vector<std::int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const std::vector<ArcSentence> arcs = gathered.arcs(all);
    ASSERT_EQ(arcs.size(), 12u);
    const Manifest manifest = open_store(gathered.setup);
    TextStore texts(gathered.setup.store, manifest, gathered.setup.tokenizer.get());
    const Chunk chunk = texts.chunk(7);
    const Text text = texts.text(chunk.text);
    Runs runs(gathered.setup.model, gathered.setup.tokenizer);
    runs.run_text(text, {.text = text.text});
    const WordTokens tokens = word_tokens(text, runs.trace(0).encoding());
    const std::int64_t n = arcs[7].places();
    ASSERT_EQ(arcs[7].words(), std::ssize(text.words));
    for (const auto& [layer, head] : {std::pair(0, 0), std::pair(3, 5), std::pair(5, 7)}) {
        const at::Tensor pattern =
            trace::pattern_rows(runs.trace(0), Layer(layer), Head(head), 0, runs.trace(0).tokens()).contiguous();
        std::vector<double> expected;
        word_attention(floats_of(pattern), runs.trace(0).tokens(), tokens, expected);
        for (std::int64_t i = 0; i < arcs[7].words(); ++i)
            for (std::int64_t j = 0; j < arcs[7].words(); ++j)
                EXPECT_NEAR(arcs[7].attention[static_cast<std::size_t>(((layer * 8 + head) * n + i) * n + j)],
                            expected[static_cast<std::size_t>(i * arcs[7].words() + j)], 1e-5);
    }
    // What else is in a pass does not matter.
    const std::vector<std::int64_t> one = {7};
    EXPECT_EQ(gathered.arcs(one).front().attention, arcs[7].attention);
    const ArcProbe probe = fit_arc_probe(arcs, {.penalty = 1e-4});
    EXPECT_GT(share(arc_hits(probe, arcs)), share(offset_hits(best_arc_offset(arcs), arcs)));
    EXPECT_EQ(probe.to_head.size(), 48u);
}

TEST(AttentionArcs, SpecialTokensOfAnEncoderStandForRoot) {
    const GatheredArcs gathered(fixture_model("bert"), 40);
    const Manifest manifest = open_store(gathered.setup);
    TextStore texts(gathered.setup.store, manifest);
    std::vector<std::int64_t> whole;
    for (std::int64_t chunk = 0; chunk < texts.chunks(); ++chunk)
        if (texts.chunk(chunk).whole) whole.push_back(chunk);
    ASSERT_FALSE(whole.empty());
    const std::vector<ArcSentence> arcs = gathered.arcs(whole);
    for (const ArcSentence& sentence : arcs) {
        EXPECT_EQ(sentence.special, 2);
        const std::int64_t n = sentence.places();
        for (std::int64_t i = 0; i < n; ++i)  // every token is a word or special
            EXPECT_NEAR(std::accumulate(sentence.attention.begin() + i * n, sentence.attention.begin() + (i + 1) * n, 0.0), 1,
                        1e-5);
    }
}

TEST(AttentionArcs, ATextOfSeveralChunksIsRefused) {
    const GatheredArcs gathered(built_in_model(), 8);
    EXPECT_THROW(gathered.arcs({0}), Error);
}

}  // namespace
}  // namespace headlight::corpus
