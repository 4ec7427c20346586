// SPDX-License-Identifier: GPL-3.0-or-later
// The analyses from the logit to the memories: columns as documented, sums that close in the file, errors people can
// mend.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <tuple>

namespace headlight {
namespace analyze_prediction_test {

using test::built_in_model;
using test::cells_of;
using test::csv_rows;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using testing::HasSubstr;

constexpr const char* text = "The old doctor asked the nurse to wait.";

Outcome analyze(const std::string& name, const std::vector<std::string>& options) {
    return headlight(joined({"analyze", name, built_in_model(), "--text", text}, options));
}

TEST(AnalyzeLens, HasTheDocumentedColumns) {
    const Outcome outcome = done(analyze("lens", {"--top", "2", "--watch", " nurse"}));
    const auto rows = csv_rows(outcome.out);
    EXPECT_EQ(rows[0], cells_of("layer,position,rank,token_id,token,logit,probability,kl_to_final,entropy,text_token,"
                                "watched_id,watched_token,watched_rank,watched_probability"));
    bool output = false, watched = false;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i].size(), rows[0].size());
        EXPECT_EQ(rows[i][2] == "0", !rows[i][7].empty()) << "only rank 0 has a distribution's numbers";
        output |= rows[i][0] == "-1";
        watched |= std::stoi(rows[i][2]) > 1;
    }
    EXPECT_TRUE(output);
    EXPECT_TRUE(watched) << "the watched token is there whatever its rank";
}

TEST(AnalyzeAttribution, EndsInTheLogitDifference) {
    const Outcome outcome = done(analyze("attribution", {"--position", "5", "--token", " nurse", "--minus", "7", "--neurons"}));
    const auto rows = csv_rows(outcome.out);
    EXPECT_EQ(rows[0], cells_of("component,layer,index,contribution,source"));
    EXPECT_EQ(rows.back()[0], "total");
    double sum = 0;
    for (std::size_t i = 1; i + 1 < rows.size(); ++i) sum += std::stod(rows[i][3]);
    EXPECT_NEAR(sum, std::stod(rows.back()[3]), 1e-3 * std::max(1.0, std::abs(sum)));
    const bool last_neuron = std::any_of(rows.begin(), rows.end(),
                                         [](const auto& row) { return row[0] == "neuron" && row[1] == "5" && row[2] == "1023"; });
    EXPECT_TRUE(last_neuron) << "every neuron of every layer has a row";
}

TEST(AnalyzeMlp, HasTheDocumentedColumns) {
    const Outcome outcome = done(analyze("mlp", {"--layer", "3", "--position", "2", "--top", "4"}));
    const auto rows = csv_rows(outcome.out);
    EXPECT_EQ(rows[0],
              cells_of("neuron,coefficient,value_norm,contribution_norm,top_token_id,top_token,top_probability,"
                       "bottom_token_id,bottom_token,layer,position,pre_activation,up,raises,lowers,logit_contribution"));
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_GE(std::stod(rows[1][3]), std::stod(rows[4][3]));
}

TEST(AnalyzeDrivers, AnswersThreeQuestions) {
    const Outcome neuron = done(analyze("drivers", {"--layer", "2", "--neuron", "17", "--position", "3"}));
    EXPECT_EQ(csv_rows(neuron.out).back()[0], "total");
    const Outcome head = analyze("drivers", {"--layer", "2", "--head", "1", "--position", "3", "--top", "5"});
    EXPECT_EQ(csv_rows(head.out).size(), 6U);
    const Outcome token = headlight({"analyze", "drivers", built_in_model(), "--token", " nurse", "--top", "3"});
    EXPECT_EQ(csv_rows(token.out).size(), 4U) << token.err;
    const Outcome driven = analyze("drivers", {"--token", " nurse", "--position", "3", "--top", "3", "--drivers", "2"});
    EXPECT_EQ(csv_rows(driven.out)[0],
              cells_of("layer,neuron,score,coefficient,pre_activation,from_layer,from_head,contribution,logit_contribution"))
        << driven.err;
    EXPECT_EQ(csv_rows(driven.out).size(), 7U);
    EXPECT_EQ(analyze("drivers", {"--layer", "2"}).code, 2);
}

TEST(AnalyzeContributions, RefinementAndPredictions) {
    const Outcome graph = analyze("contributions", {"--position", "4"});
    EXPECT_EQ(csv_rows(graph.out)[0], cells_of("layer,kind,from,to,head,contribution,from_token,to_token")) << graph.err;
    const Outcome layers = analyze("refinement", {});
    EXPECT_EQ(csv_rows(layers.out).size(), 7U) << layers.err;
    const test::TempFolder folder;
    const Outcome texts =
        headlight({"analyze", "refinement", built_in_model(), "--texts",
                   folder.write("texts.txt", "The old doctor asked.\n\nThe nurse was late.\n").string(), "--changes"});
    EXPECT_EQ(csv_rows(texts.out)[0], cells_of("text,position,before_id,before,after_id,after")) << texts.err;
    const Outcome next = analyze("predictions", {"--top", "2"});
    EXPECT_EQ(csv_rows(next.out)[1][3], "") << "the first token was not predicted: a gap";
}

TEST(AnalyzeAliases, AreTheSameAnalyses) {
    for (const auto& [name, alias, options] :
         {std::tuple("attribution", "dla", std::vector<std::string>{"--position", "2", "--token", "7"}),
          std::tuple("mlp", "memories", std::vector<std::string>{"--layer", "1", "--position", "2"})}) {
        EXPECT_EQ(done(analyze(name, options)).out, analyze(alias, options).out) << alias;
        EXPECT_THAT(headlight({"analyze", "--help"}).out, testing::Not(HasSubstr("  " + std::string(alias) + " ")));
    }
}

TEST(AnalyzeErrors, SayWhatToDo) {
    refused(analyze("attribution", {"--position", "1", "--token", "Brocklehurst handkerchief"}), 1,
            testing::AllOf(HasSubstr("more than one token"), HasSubstr("--token")));
    refused(analyze("attribution", {"--position", "99", "--token", "5"}), 1, HasSubstr("99"));
    const std::string bert = test::fixture("models/bert");
    refused(headlight({"analyze", "lens", bert, "--text", "the cat"}), 1, HasSubstr("unembedding"));
    const Outcome coefficients = headlight({"analyze", "mlp", bert, "--text", "the cat", "--layer", "0", "--position", "1"});
    EXPECT_EQ(coefficients.code, 0) << "coefficients need no unembedding: " << coefficients.err;
    const Outcome masked =
        headlight({"analyze", "attribution", bert + "-mlm", "--text", "the cat", "--position", "1", "--token", "5"});
    EXPECT_THAT(masked.err, HasSubstr("not a sum"));
}

}  // namespace analyze_prediction_test
}  // namespace headlight
