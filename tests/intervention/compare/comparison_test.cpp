// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/compare/layers.h"
#include "tests/intervention/compare/runs.h"
#include "tests/support/case_name.h"

#include <Eigen/QR>

#include <cmath>
#include <numbers>
#include <random>

namespace headlight::intervention {
namespace comparison_test {

const std::string one = "The old cat asked.", other = "The cat asked the old cat.";

std::shared_ptr<const trace::Trace> run_fixture(const char* name, const std::string& text, const std::string& pair = {}) {
    return run_model(source_folder() / "tests/fixtures/models" / name, text, pair);
}

TEST(RowDistances, AreThoseOfTheHandCase) {
    const std::vector<double> a{1 / 6., 2 / 6., 3 / 6.}, b{3 / 6., 2 / 6., 1 / 6.};
    const RowDistance d = row_distance(a, b);
    EXPECT_NEAR(d.kl, .366204, 5e-7);
    EXPECT_NEAR(d.js, .087208, 5e-7);
    EXPECT_NEAR(d.tv, 1 / 3., 1e-12);
    EXPECT_NEAR(d.hellinger, .298858, 5e-7);
}

TEST(RowDistances, NothingInCommonIsTheLargest) {
    const RowDistance d = row_distance({}, {}, 1, 1);
    EXPECT_NEAR(d.js, std::numbers::ln2, 1e-12);
    EXPECT_EQ(d.tv, 1);
    EXPECT_EQ(d.hellinger, 1);
    EXPECT_TRUE(std::isinf(d.kl));
}

Eigen::MatrixXd random_matrix(Eigen::Index rows, Eigen::Index columns, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&] { return normal(generator); });
}

TEST(Cka, IsThatOfTheHandCase) {
    Eigen::MatrixXd x(4, 2), y(4, 1);
    x << 1, 0, 0, 1, 1, 1, 2, 0;
    y << 1, 2, 3, 1;
    EXPECT_NEAR(cka(x, y), .446685, 5e-7);
}

TEST(Cka, DoesNotChangeWithRotationScaleAndShift) {
    const Eigen::MatrixXd x = random_matrix(9, 5, 1), y = random_matrix(9, 7, 2);
    const Eigen::MatrixXd rotation = Eigen::HouseholderQR<Eigen::MatrixXd>(random_matrix(5, 5, 3)).householderQ();
    const Eigen::MatrixXd turned = (3.7 * x * rotation).rowwise() + Eigen::RowVectorXd::Constant(5, 2.0);
    EXPECT_NEAR(cka(turned, y), cka(x, y), 1e-12);
    EXPECT_NEAR(unbiased_cka(3.7 * x * rotation, y), unbiased_cka(x, y), 1e-12);
    EXPECT_NEAR(rsa(3.7 * x * rotation, y), rsa(x, y), 1e-12);
    EXPECT_EQ(cka(x, x), 1);
    EXPECT_EQ(unbiased_cka(x, x), 1);
    EXPECT_NEAR(rsa(x, x), 1, 1e-15);
    EXPECT_TRUE(std::isnan(unbiased_cka(x.topRows(3), y.topRows(3))));
}

class EveryFamily : public testing::TestWithParam<std::filesystem::path> {
protected:
    bool translates() const { return GetParam().parent_path().filename() == "encoder_decoders"; }
    std::shared_ptr<const trace::Trace> run(const std::string& text) const {
        return run_model(GetParam(), text, translates() ? "the " + text : "");
    }
    std::vector<model::Stack> parts() const {
        if (!translates()) return {model::Stack::decoder};
        return {model::Stack::decoder, model::Stack::encoder, model::Stack::cross};
    }
};

TEST_P(EveryFamily, ARunEqualsItself) {
    const auto whole = run(other), again = run(other);
    for (const model::Stack part : parts()) {
        const RunPair pair = pair_of(trace::part_of(whole, part), trace::part_of(again, part));
        for (std::int64_t u = 0; u < std::ssize(pair.queries.to); ++u) EXPECT_EQ(pair.queries.to[static_cast<std::size_t>(u)], u);
        for (const bool without_first : {false, true})
            for (const HeadComparison& head : compare_heads(pair, same_heads(pair), {.without_first = without_first}).heads) {
                EXPECT_EQ(head.z_cosine, 1);
                EXPECT_EQ(head.z_relative_l2, 0);
                if (without_first && std::isnan(head.js)) continue;  // all its weight is on the first key
                EXPECT_EQ(head.js, 0);
                EXPECT_EQ(head.js_max, 0);
                EXPECT_EQ(head.tv, 0);
            }
        const DifferenceMap map = difference_map(pair, {}, {});
        EXPECT_EQ(map.difference.cwiseAbs().maxCoeff(), 0);
        if (part == model::Stack::cross) continue;
        const LayerSimilarity layers = layer_similarity(pair);
        for (Eigen::Index i = 0; i < layers.values.rows(); ++i) EXPECT_EQ(layers.values(i, i), 1);
        EXPECT_EQ(layers.values, layer_similarity(pair, {.within_first = true}).values);
    }
}

TEST_P(EveryFamily, SwappingTheRunsChangesTheSignAlone) {
    const auto a = run(one), b = run(other);
    for (const model::Stack part : parts()) {
        const RunPair ab = pair_of(trace::part_of(a, part), trace::part_of(b, part)),
                      ba = pair_of(trace::part_of(b, part), trace::part_of(a, part));
        const ComparedHeads forth = compare_heads(ab, same_heads(ab)), back = compare_heads(ba, same_heads(ba));
        ASSERT_EQ(ab.queries.aligned(), ba.queries.aligned());
        for (std::size_t h = 0; h < forth.heads.size(); ++h) {
            const HeadComparison &x = forth.heads[h], &y = back.heads[h];
            if (ab.queries.to == ba.queries.back()) {  // else the longest common subsequence had equals
                EXPECT_NEAR(x.js, y.js, 1e-12);
                EXPECT_NEAR(x.tv, y.tv, 1e-12);
                EXPECT_NEAR(x.z_cosine, y.z_cosine, 1e-12);
            }
            EXPECT_LE(x.js_max, std::numbers::ln2 + 1e-6);
            EXPECT_LE(x.js, x.js_max);
            EXPECT_LE(x.tv, 1 + 1e-6);
            EXPECT_LE(x.tv * x.tv / 2, x.js_max + 1e-6);  // Pinsker, of means by Jensen
        }
        const DifferenceMap map = difference_map(ab, {}, {});
        ASSERT_EQ(std::ssize(map.queries), std::ssize(ab.queries.a) + std::ssize(ab.queries.b) - ab.queries.aligned());
        for (std::size_t q = 0; q < map.queries.size(); ++q) {
            const auto row = static_cast<Eigen::Index>(q);
            EXPECT_EQ(map.difference.row(row).hasNaN(), !map.queries[q].both());
            if (map.queries[q].both() && !trace::part_of(a, part)->config().attention_sinks) {
                EXPECT_NEAR(map.difference.row(row).sum(), 0, 1e-5);  // what moved went somewhere
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, EveryFamily, testing::ValuesIn(family_folders()),
                         [](const auto& each) { return test::case_name(each.param.filename()); });

TEST(Comparison, OfTwoTokenizersPoolsTokensWhereBothHaveABoundary) {
    const RunPair pair =
        pair_of(run_fixture("gpt2", "The cat asked the doctor."), run_fixture("bert", "The cat asked the doctor."));
    EXPECT_TRUE(pair.queries.pooled);
    std::int64_t covered_a = 0, covered_b = 0;
    for (const TextUnit unit : pair.queries.a) {
        EXPECT_EQ(unit.first, covered_a);
        covered_a += unit.count;
    }
    for (const TextUnit unit : pair.queries.b) covered_b += unit.count;
    EXPECT_EQ(covered_a, pair.a->tokens());
    EXPECT_EQ(covered_b, pair.b->tokens());
    // What a pooled row is: sums over the tokens of a key, means over those of a query; all of it still sums to 1.
    const DifferenceMap map = difference_map(pair, {}, {});
    for (std::size_t q = 0; q < map.queries.size(); ++q)
        if (map.queries[q].both()) {
            EXPECT_NEAR(map.a.row(static_cast<Eigen::Index>(q)).sum(), 1, 1e-5);
        }
    // The words are found whatever they are cut into.
    std::string words;
    for (std::size_t u = 0; u < pair.queries.to.size(); ++u)
        if (pair.queries.to[u] >= 0) words += unit_label(pair.a->labels(), pair.queries.a[u]);
    EXPECT_NE(words.find("cat"), std::string::npos) << words;
    EXPECT_EQ(pair.queries.to.back() < 0, false) << "the full stop";
}

TEST(Comparison, WithoutTheFirstKeyTheOthersAreRenormalised) {
    const RunPair pair = pair_of(run_fixture("gpt2", one), run_fixture("gpt2", other));
    const DifferenceMap whole = difference_map(pair, {}, {}), without = difference_map(pair, {}, {}, {.without_first = true});
    for (Eigen::Index q = 1; q < whole.a.rows(); ++q) {
        if (!whole.queries[static_cast<std::size_t>(q)].both()) continue;
        EXPECT_EQ(without.a(q, 0), 0);
        EXPECT_NEAR(without.a(q, 1), whole.a(q, 1) / (1 - whole.a(q, 0)), 1e-6);
    }
}

TEST(Comparison, RefusesWhatHasNothingInCommon) {
    EXPECT_THROW(pair_of(run_fixture("gpt2", "zzz"), run_fixture("gpt2", "qqq")), Error);
    const auto translated = run_model(source_folder() / "tests/fixtures/encoder_decoders/t5", one, other);
    EXPECT_THROW(pair_of(translated, trace::part_of(translated, model::Stack::cross)), Error);
    const RunPair shapes = pair_of(run_fixture("gpt2", one), run_fixture("llama-kv2", one));
    EXPECT_THROW(same_heads(shapes), Error);
    EXPECT_THROW(weight_differences(*shapes.a->model(), *shapes.b->model()), Error);
}

TEST(Weights, OfAModelAndItselfAreEqual) {
    const auto trace = run_fixture("llama-kv2", one);
    const auto differences = weight_differences(*trace->model(), *trace->model());
    std::int64_t products = 0;
    for (const WeightDifference& each : differences) {
        EXPECT_EQ(each.relative, 0) << each.matrix;
        EXPECT_EQ(each.cosine, 1) << each.matrix;
        products += each.matrix == "QK" || each.matrix == "OV";
    }
    EXPECT_EQ(products, 2 * trace->config().n_layers * trace->config().n_heads);
}

}  // namespace comparison_test
}  // namespace headlight::intervention
