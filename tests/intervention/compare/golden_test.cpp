// SPDX-License-Identifier: GPL-3.0-or-later
// Against tests/golden/make_compare_golden.py: transformers, NumPy and SciPy.
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/compare/layers.h"
#include "tests/intervention/compare/runs.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace headlight::intervention {
namespace compare_golden_test {

using nlohmann::json;

const json& golden() {
    static const json read = json::parse(std::ifstream(source_folder() / "tests/golden/compare.json"));
    return read;
}

Eigen::MatrixXd matrix(const json& rows) {
    Eigen::MatrixXd out(std::ssize(rows), std::ssize(rows[0]));
    for (Eigen::Index r = 0; r < out.rows(); ++r)
        for (Eigen::Index c = 0; c < out.cols(); ++c) out(r, c) = rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
    return out;
}

TEST(CompareGolden, RowsThatHaveSomeKeysInCommon) {
    for (const json& row : golden()["rows"]) {
        const RowDistance d =
            row_distance(row["a"].get<std::vector<double>>(), row["b"].get<std::vector<double>>(), row["rest_a"], row["rest_b"]);
        EXPECT_NEAR(d.js, row["js"].get<double>(), 1e-12);
        EXPECT_NEAR(d.tv, row["tv"].get<double>(), 1e-12);
        EXPECT_NEAR(d.hellinger, row["hellinger"].get<double>(), 1e-12);
        if (row["kl"].is_null())
            EXPECT_TRUE(std::isinf(d.kl));
        else
            EXPECT_NEAR(d.kl, row["kl"].get<double>(), 1e-12);
    }
}

TEST(CompareGolden, SimilaritiesOfStates) {
    const json& states = golden()["states"];
    const Eigen::MatrixXd x = matrix(states["x"]), y = matrix(states["y"]);
    EXPECT_NEAR(cka(x, y), states["cka"].get<double>(), 1e-12);
    EXPECT_NEAR(unbiased_cka(x, y), states["cka-unbiased"].get<double>(), 1e-12);
    EXPECT_NEAR(rsa(x, y), states["rsa"].get<double>(), 1e-12);
}

TEST(CompareGolden, EveryHeadAndLayerOfTwoTexts) {
    for (const auto& [name, expected] : golden()["models"].items()) {
        SCOPED_TRACE(name);
        const auto folder = source_folder() / "tests/fixtures/models" / name;
        const RunPair pair = pair_of(run_model(folder, golden()["a"]), run_model(folder, golden()["b"]));
        std::vector<std::pair<std::int64_t, std::int64_t>> aligned;
        for (std::int64_t u = 0; u < std::ssize(pair.queries.to); ++u)
            if (const std::int64_t to = pair.queries.to[static_cast<std::size_t>(u)]; to >= 0) aligned.emplace_back(u, to);
        EXPECT_EQ(aligned, (expected["pairs"].get<decltype(aligned)>()));
        const ComparedHeads compared = compare_heads(pair, same_heads(pair));
        ASSERT_EQ(compared.heads.size(), expected["heads"].size());
        for (std::size_t h = 0; h < compared.heads.size(); ++h) {
            const HeadComparison& head = compared.heads[h];
            const json& e = expected["heads"][h];
            EXPECT_NEAR(head.js, e["js"].get<double>(), 1e-6);
            EXPECT_NEAR(head.js_max, e["js_max"].get<double>(), 1e-6);
            EXPECT_NEAR(head.tv, e["tv"].get<double>(), 1e-6);
            EXPECT_NEAR(head.z_cosine, e["z_cosine"].get<double>(), 1e-5);
            EXPECT_NEAR(head.z_relative_l2, e["z_relative_l2"].get<double>(), 1e-5);
        }
        for (const EnumRow<Similarity>& kind : similarities) {
            const LayerSimilarity similarity = layer_similarity(pair, {.kind = kind.value});
            const Eigen::MatrixXd reference = matrix(expected[std::string(kind.word)]);
            ASSERT_EQ(similarity.values.rows(), reference.rows());
            // Ranks of float32 dissimilarities may swap where two are equal to rounding.
            EXPECT_LT((similarity.values - reference).cwiseAbs().maxCoeff(), kind.value == Similarity::rsa ? 1e-3 : 1e-4)
                << kind.word;
        }
    }
}

TEST(CompareGolden, HeadsOfTwoModelsAreMatchedAsScipyDoes) {
    const auto models = source_folder() / "tests/fixtures/models";
    const RunPair pair = pair_of(run_model(models / "gpt2", golden()["a"]), run_model(models / "gpt2-untied", golden()["a"]));
    EXPECT_THROW(same_heads(pair), Error);
    const HeadMatching matching = match_heads(pair);
    const json& expected = golden()["match"];
    ASSERT_EQ(matching.pairs.size(), expected["partners"].size());
    for (std::size_t p = 0; p < matching.pairs.size(); ++p) {
        const HeadId partner = matching.pairs[p].second;
        EXPECT_EQ(partner.layer.value * pair.b->config().n_heads + partner.head.value,
                  expected["partners"][p].get<std::int64_t>());
        EXPECT_NEAR(matching.js[p], expected["js"][p].get<double>(), 1e-6);
    }
}

}  // namespace compare_golden_test
}  // namespace headlight::intervention
