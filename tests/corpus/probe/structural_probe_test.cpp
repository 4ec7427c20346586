// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/probe/structural_probe.h"

#include "corpus/probe/structural_loss.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "tests/corpus/fixtures.h"

#include <gmock/gmock.h>

#include <cmath>

namespace headlight::corpus {
namespace {

using testing::ElementsAre;
using testing::Pair;

TreeSentence sentence_of(std::vector<std::int32_t> heads, std::int64_t first = 0) {
    return {.first = first, .heads = heads, .punctuation = std::vector<std::uint8_t>(heads.size(), 0)};
}

/// Random trees whose words have the states x A: x has a 1 for each arc on the way to the root, so that squared distances of x
/// are those of the tree, and A is a fixed invertible map.
struct TreeMetric {
    static constexpr std::int64_t kWidth = 16, kMostWords = 12;
    StructuralProbe::Matrix states;
    std::vector<TreeSentence> train, dev, test;

    explicit TreeMetric(std::int64_t sentences, std::uint64_t seed = 5) {
        std::int64_t words = 0;
        std::vector<TreeSentence> all;
        for (std::int64_t s = 0; s < sentences; ++s) {
            const auto n = static_cast<std::int32_t>(5 + draw(seed, s, -1) % (kMostWords - 4));
            TreeSentence sentence = sentence_of(std::vector<std::int32_t>(static_cast<std::size_t>(n), -1), words);
            const auto root = static_cast<std::int32_t>(draw(seed, s, -2) % static_cast<std::uint64_t>(n));
            // Words counted from the root: each depends on one that comes before it.
            for (std::int32_t i = 1; i < n; ++i)
                sentence.heads[static_cast<std::size_t>((root + i) % n)] =
                    (root + static_cast<std::int32_t>(draw(seed, s, i) % static_cast<std::uint64_t>(i))) % n;
            words += n;
            all.push_back(std::move(sentence));
        }
        StructuralProbe::Matrix x = StructuralProbe::Matrix::Zero(words, kWidth), a(kWidth, kWidth);
        for (const TreeSentence& sentence : all)
            for (std::int32_t w = 0; w < sentence.words(); ++w)
                for (std::int32_t at = w; at >= 0; at = sentence.heads[static_cast<std::size_t>(at)])
                    if (sentence.heads[static_cast<std::size_t>(at)] >= 0) x(sentence.first + w, at) = 1;
        for (std::int64_t i = 0; i < a.size(); ++i)
            a.data()[i] =
                (i % (kWidth + 1) == 0 ? 2.0F : 0.0F) + 0.2F * (static_cast<float>(draw(seed, -9, i) >> 40) * 0x1p-23F - 1);
        states = x * a;
        const auto part = static_cast<std::ptrdiff_t>(all.size() / 10);
        train.assign(all.begin() + 2 * part, all.end());
        dev.assign(all.begin(), all.begin() + part);
        test.assign(all.begin() + part, all.begin() + 2 * part);
    }
    StateRows rows() const { return {states.data(), states.rows(), states.cols()}; }
};

TreeScores scores_of(const StructuralProbe& probe, const TreeMetric& metric) {
    std::vector<TreeScore> scores;
    for (const TreeSentence& sentence : metric.test) {
        const std::vector<float> predicted = probe.predict(metric.rows(), sentence);
        scores.push_back(probe.target == TreeTarget::distance ? score_distances(sentence, predicted)
                                                              : score_depths(sentence, predicted));
    }
    return tree_scores(scores);
}

TEST(StructuralProbe, FindsAMetricThatIsThere) {
    const TreeMetric metric(1000);
    const StructuralProbe probe = fit_structural_probe(metric.rows(), metric.train, metric.dev);
    const TreeScores scores = scores_of(probe, metric);
    EXPECT_GT(scores.uuas, 0.99);
    EXPECT_GT(scores.spearman, 0.95);  // not 1: equal distances of a tree differ by a little after the map
    EXPECT_LT(probe.dev_loss, 0.15);
    const StructuralProbe depths = fit_structural_probe(metric.rows(), metric.train, metric.dev, {.target = TreeTarget::depth});
    const TreeScores of_depths = scores_of(depths, metric);
    EXPECT_GT(of_depths.root_accuracy, 0.99);
    EXPECT_GT(of_depths.spearman, 0.93);
    // One axis cannot hold trees.
    EXPECT_LT(scores_of(fit_structural_probe(metric.rows(), metric.train, metric.dev, {.rank = 1}), metric).uuas, 0.7);
}

TEST(StructuralProbe, HasTheSameBitsOnAnyNumberOfThreads) {
    const TreeMetric metric(120);
    std::vector<StructuralProbe> probes;
    for (const int n : {1, 3})
        probes.push_back(on_threads(
            n, [&] { return fit_structural_probe(metric.rows(), metric.train, metric.dev, {.epochs = 3, .seed = 2}); }));
    EXPECT_TRUE(probes[0].b == probes[1].b);
    EXPECT_EQ(probes[0].dev_loss, probes[1].dev_loss);
    EXPECT_FALSE(probes[0].b == fit_structural_probe(metric.rows(), metric.train, metric.dev, {.epochs = 3, .seed = 3}).b);
}

/// Words [word, 3] sin(1 + 3 w + 5 c) and a map [2, 3] cos(2 + 7 r + c) / 2.
struct SmallCase {
    std::vector<double> h, b;
    TreeSentence sentence = sentence_of({1, -1, 1, 2});
    TreeLengths lengths = tree_lengths(sentence);

    SmallCase() {
        for (int w = 0; w < 4; ++w)
            for (int c = 0; c < 3; ++c) h.push_back(std::sin(1 + 3 * w + 5 * c));
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 3; ++c) b.push_back(std::cos(2 + 7 * r + c) / 2);
    }
    TreeBatch batch() {
        return {.states = at::from_blob(h.data(), {4, 3}, at::TensorOptions(at::kDouble)), .first = {0}, .lengths = {&lengths}};
    }
    double loss(TreeTarget target, at::Tensor* gradient) {
        return structural_loss(batch(), target, at::from_blob(b.data(), {2, 3}, at::TensorOptions(at::kDouble)), gradient)
            .front();
    }
};

TEST(StructuralProbe, LossAndGradientAreThoseOfPyTorch) {
    SmallCase small;
    const std::vector<double> of_distance = {-1.0983812077, 0.7922535670,  1.5478459642,
                                             0.3856124875,  -0.1846529555, -0.4903706093},
                              of_depth = {-0.2654004840, 0.2479696584, 0.4060797144, 0.0658536862, -0.0146288803, -0.0741530065};
    for (const TreeTarget target : {TreeTarget::distance, TreeTarget::depth}) {
        const bool distance = target == TreeTarget::distance;
        at::Tensor gradient;
        EXPECT_NEAR(small.loss(target, &gradient), distance ? 0.865611684094 : 0.887867816881, 1e-11);
        const std::vector<double>& expected = distance ? of_distance : of_depth;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(gradient.data_ptr<double>()[i], expected[i], 1e-9);
            constexpr double kStep = 1e-6;
            const double before = small.b[i];
            small.b[i] = before + kStep;
            const double above = small.loss(target, nullptr);
            small.b[i] = before - kStep;
            const double below = small.loss(target, nullptr);
            small.b[i] = before;
            EXPECT_NEAR(gradient.data_ptr<double>()[i], (above - below) / (2 * kStep), 1e-8);
        }
    }
}

TEST(StructuralProbe, ReadsSentencesOfOneWordAndOfNone) {
    TreeMetric metric(40);
    metric.train.push_back(sentence_of({-1}, 3));
    metric.train.push_back(sentence_of({}, 3));
    metric.dev.push_back(sentence_of({-1}, 4));
    const StructuralProbe probe = fit_structural_probe(metric.rows(), metric.train, metric.dev, {.epochs = 2});
    EXPECT_EQ(probe.epochs, 2);
    EXPECT_TRUE(probe.b.allFinite());
    const TreeScore one = score_distances(sentence_of({-1}), probe.predict(metric.rows(), sentence_of({-1})));
    EXPECT_EQ(one.edges, 0);
    EXPECT_TRUE(std::isnan(one.spearman));
    EXPECT_TRUE(probe.predict(metric.rows(), sentence_of({})).empty());
    EXPECT_TRUE(std::isnan(tree_scores({}).uuas));
}

TEST(StructuralProbe, RefusesWhatItCannotLearnFrom) {
    TreeMetric metric(40);
    const auto fit = [&](const StructuralOptions& options = {}) {
        return fit_structural_probe(metric.rows(), metric.train, metric.dev, options);
    };
    EXPECT_THROW(fit({.batch = 0}), Error);
    EXPECT_THROW(fit({.learning_rate = 0}), Error);
    EXPECT_THROW(fit_structural_probe(metric.rows(), metric.train, {}), Error);
    EXPECT_THROW(fit_structural_probe(metric.rows(), {}, metric.dev), Error);
    metric.states(metric.train[3].first, 2) = std::nanf("");
    EXPECT_THROW(fit(), Error);
    metric.states(metric.train[3].first, 2) = 0;
    metric.train[1].first = metric.states.rows() - 1;
    EXPECT_THROW(fit(), Error);
    EXPECT_THROW(tree_lengths(sentence_of({-1, -1})), Error);
    EXPECT_THROW(tree_lengths(sentence_of({-1, 2, 1})), Error);
    EXPECT_THROW(tree_lengths(sentence_of({-1, 3})), Error);
}

TEST(StructuralProbe, StopsWhereItIsCancelled) {
    const TreeMetric metric(60);
    const CancelToken cancel;
    std::int64_t epochs = 0;
    const Progress progress = [&](const ProgressStep& step) {
        epochs = step.done;
        if (step.done == 2) cancel.cancel();
    };
    EXPECT_THROW(fit_structural_probe(metric.rows(), metric.train, metric.dev, {}, cancel, progress), Cancelled);
    EXPECT_EQ(epochs, 2);
}

TEST(TreeScores, LengthsOfPaths) {
    // 0 <- 1 -> 2 -> 3, 1 -> 4
    const TreeLengths lengths = tree_lengths(sentence_of({1, -1, 1, 2, 1}));
    EXPECT_THAT(lengths.depth, ElementsAre(1, 0, 1, 2, 1));
    EXPECT_THAT(lengths.distance, ElementsAre(0, 1, 2, 3, 2, 1, 0, 1, 2, 1, 2, 1, 0, 1, 2, 3, 2, 1, 0, 3, 2, 1, 2, 3, 0));
}

TEST(TreeScores, RankCorrelationsAreThoseOfScipy) {
    EXPECT_NEAR(spearman(std::vector<float>{.1F, 2, .5F, .5F, 3, -1}, std::vector<float>{1, 2, 2, 3, 2, 0}), 0.6468431588153823,
                1e-12);
    EXPECT_NEAR(spearman(std::vector<float>{3, 1, 2, 2}, std::vector<float>{1, 2, 3, 4}), -0.316227766016838, 1e-12);
    EXPECT_TRUE(std::isnan(spearman(std::vector<float>{1, 1, 1}, std::vector<float>{1, 2, 3})));
}

TEST(TreeScores, SpanningTreesOfFiveWords) {
    const std::vector<float> predicted = {0, 1, 4, 2, 9, 1, 0, 2.5, 3, 1.5, 4, 2.5, 0, .5, 6, 2, 3, .5, 0, 5, 9, 1.5, 6, 5, 0};
    TreeSentence sentence = sentence_of({1, -1, 1, 2, 1});
    EXPECT_THAT(minimum_spanning_tree(predicted, sentence.punctuation),
                ElementsAre(Pair(2, 3), Pair(0, 1), Pair(1, 4), Pair(0, 3)));
    const TreeScore score = score_distances(sentence, predicted);
    EXPECT_EQ(score.edges, 4);
    EXPECT_EQ(score.hits, 3);
    EXPECT_NEAR(score.spearman, 0.7995330056858505, 1e-12);  // scipy, mean over the five rows

    // Without word 1 its dependents are joined in the tree's own metric: 0-2 and 0-4 (each 2), 2-3 (1).
    sentence.punctuation[1] = 1;
    const TreeScore without = score_distances(sentence, predicted);
    EXPECT_EQ(without.edges, 3);
    EXPECT_EQ(without.hits, 1);  // predicted: 2-3, 0-3, 3-4
    EXPECT_NEAR(without.spearman, score.spearman, 1e-12);
}

TEST(TreeScores, TheRootIsTheLeastDeepWordThatIsNoPunctuation) {
    TreeSentence sentence = sentence_of({1, -1, 1, 2, 1});
    const std::vector<float> predicted = {1.5F, .2F, .1F, 3, 1.2F};
    const TreeScore miss = score_depths(sentence, predicted);
    EXPECT_TRUE(miss.has_root);
    EXPECT_FALSE(miss.root_hit);
    EXPECT_NEAR(miss.spearman, 0.6708203932499368, 1e-12);
    sentence.punctuation[2] = 1;
    EXPECT_TRUE(score_depths(sentence, predicted).root_hit);
    sentence.punctuation.assign(5, 1);
    EXPECT_FALSE(score_depths(sentence, predicted).has_root);
}

TEST(TreeScores, SpearmanIsAveragedByLengthFrom5To50) {
    std::vector<TreeScore> scores;
    for (const auto& [words, rho] :
         std::vector<std::pair<std::int64_t, double>>{{4, 1}, {5, .2}, {5, .4}, {50, .9}, {51, 1}, {7, kNaN}})
        scores.push_back(
            {.words = words, .edges = words - 1, .hits = 1, .spearman = rho, .has_root = words > 4, .root_hit = words == 5});
    const TreeScores all = tree_scores(scores);
    EXPECT_NEAR(all.spearman, (.3 + .9) / 2, 1e-12);
    EXPECT_NEAR(all.uuas, 6.0 / (3 + 4 + 4 + 49 + 50 + 6), 1e-12);
    EXPECT_NEAR(all.root_accuracy, 2.0 / 5, 1e-12);
}

}  // namespace
}  // namespace headlight::corpus
