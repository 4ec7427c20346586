// SPDX-License-Identifier: GPL-3.0-or-later
// What `headlight analyze` writes about circuits, copy suppression and importance.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace headlight {
namespace analyze_circuit_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::lines_of;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::string kText = "The doctor asked the nurse because she was late.";
const std::string kFixtures = test::fixture("models/");

TEST(AnalyzeCircuit, OvIsOneObject) {
    const TempFolder folder;
    const std::string file = folder / "ov.json";
    done(headlight({"analyze", "ov", kFixtures + "llama-kv2", "--layer", "1", "--head", "3", "--token", "17", "--token", "a",
                    "--top", "4", "--diagonal", "--out", file}));
    const json ov = json::parse(test::slurp(file));
    EXPECT_EQ(ov["kv_head"], 1);
    EXPECT_EQ(ov["fold_norms"], false);
    ASSERT_EQ(ov["eigenvalues"].size(), 6U);
    ASSERT_EQ(ov["eigenvalues_full"].size(), 6U);
    double sum = 0, size = 0;
    for (const json& value : ov["eigenvalues"]) {
        sum += value[0].get<double>();
        size += std::hypot(value[0].get<double>(), value[1].get<double>());
    }
    EXPECT_NEAR(ov["copying_score"].get<double>(), sum / size, 1e-12);
    EXPECT_TRUE(ov["copying_score_full"].is_number());
    ASSERT_EQ(ov["rows"].size(), 2U);
    EXPECT_EQ(ov["rows"][0]["token_id"], 17);
    EXPECT_EQ(ov["rows"][1]["largest"].size(), 4U);
    EXPECT_EQ(ov["diagonal"]["ranks"].size(), 272U);
    EXPECT_EQ(ov["diagonal"]["source"], "mlp0");
}

TEST(AnalyzeCircuit, ModelWithoutUnembeddingOffersWhatWorks) {
    const TempFolder folder;
    const std::string file = folder / "ov.json";
    done(headlight({"analyze", "ov", kFixtures + "bert", "--layer", "0", "--head", "0", "--out", file}));
    const json ov = json::parse(test::slurp(file));
    EXPECT_TRUE(ov["copying_score"].is_number());
    EXPECT_TRUE(ov["copying_score_full"].is_null());
    EXPECT_THAT(ov["missing"].get<std::string>(), HasSubstr("unembedding"));
    refused(headlight({"analyze", "ov", kFixtures + "bert", "--layer", "0", "--head", "0", "--diagonal", "--out", file}), 1,
            AllOf(HasSubstr("no unembedding"), HasSubstr("composition")));
    done(headlight(
        {"analyze", "qk", kFixtures + "bert", "--layer", "0", "--head", "0", "--diagonal", "--query", "stream", "--out", file}));
    done(headlight({"analyze", "composition", kFixtures + "bert", "--out", folder / "c.csv"}));
}

TEST(AnalyzeCircuit, CompositionListsLaterLayers) {
    const Outcome outcome = done(headlight({"analyze", "composition", kFixtures + "gpt2"}));
    const auto rows = lines_of(outcome.out);
    EXPECT_EQ(rows[0], "kind,from_layer,from_head,to_layer,to_head,score");
    EXPECT_EQ(rows.size(), 1U + 3 * 2 * 2);
    for (std::size_t i = 1; i < rows.size(); ++i)
        EXPECT_THAT(rows[i], testing::MatchesRegex("\"?[QKV]\"?,0,[01],1,[01],0\\.[0-9]+"));
}

TEST(AnalyzeCircuit, CopySuppressionPairsAndHeads) {
    const Outcome pairs =
        done(headlight({"analyze", "copy-suppression", "novella-7m", "--text", kText, "--layer", "5", "--head", "7"}));
    EXPECT_EQ(
        lines_of(pairs.out)[0],
        "layer,head,destination,destination_token,source,source_token_id,source_token,attention,predicted_rank,logit_change,rank,"
        "pair_logit_change");
    EXPECT_GT(lines_of(pairs.out).size(), 5U);
    const Outcome heads = done(
        headlight({"analyze", "copy-suppression", "novella-7m", "--text", kText, "--layer", "5", "--head", "7", "--explained"}));
    EXPECT_EQ(lines_of(heads.out)[0],
              "layer,head,pairs,share_bottom_10,share_bottom_5_percent,mean_logit_change,kl_preserved,kl_ablated,explained");
    EXPECT_EQ(lines_of(heads.out).size(), 2U);
    refused(headlight({"analyze", "copy-suppression", "novella-7m", "--text", kText, "--layer", "5"}), 2, HasSubstr("--head"));
}

TEST(AnalyzeImportance, TokensAndLayers) {
    const TempFolder folder;
    const std::string file = folder / "i.json";
    done(headlight(
        {"analyze", "importance", "novella-7m", "--text", kText, "--position", "5", "--target", "next", "--out", file}));
    json tokens = json::parse(test::slurp(file));
    EXPECT_EQ(tokens["columns"], json({"position", "token_id", "token", "gradient_x_input", "gradient_norm", "blank_out",
                                       "attention", "value_weighted", "attention_layer_0", "attention_layer_1",
                                       "attention_layer_2", "attention_layer_3", "attention_layer_4", "attention_layer_5"}));
    EXPECT_EQ(tokens["rows"].size(), 6U) << "a causal model reads no further";
    EXPECT_EQ(tokens["facts"]["position"], 5);
    done(headlight({"analyze", "importance", "novella-7m", "--text", kText, "--position", "5", "--rows", "layers",
                    "--permutations", "3", "--out", file}));
    const json layers = json::parse(test::slurp(file));
    EXPECT_EQ(layers["rows"].size(), 6U * 4);
    for (const json& row : layers["rows"]) EXPECT_LE(std::abs(row[3].get<double>()), 1);

    refused(headlight({"analyze", "importance", kFixtures + "bert", "--text", "The cat.", "--position", "1"}), 1,
            HasSubstr("unembedding"));
    refused(headlight({"analyze", "importance", "novella-7m", "--text", kText, "--position", "5", "--target", "the nurse"}), 1,
            HasSubstr("one token"));
    refused(headlight({"analyze", "importance", "novella-7m", "--text", kText, "--position", "50"}), 1, HasSubstr("50"));
}

TEST(AnalyzeImportance, AttentionGradientByWhatIsLookedAt) {
    const Outcome outcome = done(headlight({"analyze", "attention-gradient", "novella-7m", "--text", kText}));
    EXPECT_EQ(lines_of(outcome.out)[0], "layer,head,keys,number_of_keys,mean_abs_gradient,mean_weight");
    EXPECT_EQ(lines_of(outcome.out).size(), 1U + 6 * 8 * 4);
    done(headlight({"analyze", "attention-gradient", kFixtures + "bert-mlm", "--text", "The cats asked."}));
}

}  // namespace analyze_circuit_test
}  // namespace headlight
