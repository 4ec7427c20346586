// SPDX-License-Identifier: GPL-3.0-or-later
// headlight analyze heads, induction and detect: columns, gaps, what the files say about themselves. The numbers are
// checked against the reference in tests/analyze.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace headlight {
namespace analyze_heads_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;

const std::string kText = "The old doctor asked the nurse to wait, because the old doctor was late.";

/// Column -> cells of all heads.
std::map<std::string, std::vector<std::string>> columns(const std::string& csv) {
    const auto rows = test::csv_rows(csv);
    std::map<std::string, std::vector<std::string>> out;
    for (std::size_t r = 1; r < rows.size(); ++r) {
        EXPECT_EQ(rows[r].size(), rows[0].size());
        for (std::size_t c = 0; c < std::min(rows[0].size(), rows[r].size()); ++c) out[rows[0][c]].push_back(rows[r][c]);
    }
    return out;
}

TEST(AnalyzeHeads, WritesOneRowAHeadWithTheColumnsInTheirOrder) {
    const Outcome outcome = done(headlight({"analyze", "heads", "novella-7m", "--text", kText}));
    EXPECT_THAT(
        outcome.out,
        testing::StartsWith("layer,head,entropy,entropy_smoothed,entropy_uniform,mean_distance,share_self,share_previous,"
                            "share_next,share_first,share_special,share_punctuation,share_same_token,top1_minus_top2,argmax_self,"
                            "argmax_first,variability,update_magnitude,update_orientation,vw_share_first,vw_share_self,"
                            "induction,previous_token,duplicate_token,"));
    const auto table = columns(outcome.out);
    ASSERT_EQ(table.at("layer").size(), 48U);
    EXPECT_EQ(table.at("layer")[47], "5");
    EXPECT_EQ(table.at("head")[47], "7");
    EXPECT_EQ(table.at("variability")[0], "") << "one text has none";
    EXPECT_EQ(table.at("share_sep")[0], "") << "a causal model has no [SEP]";
    EXPECT_EQ(table.at("previous_token"), table.at("share_previous"));
    EXPECT_GT(std::stod(table.at("share_punctuation")[0]), 0);
}

TEST(AnalyzeHeads, OneTokenHasGaps) {
    const Outcome outcome = done(headlight({"analyze", "heads", test::fixture("models/gpt2"), "--text", "a"}));
    const auto table = columns(outcome.out);
    for (const char* gap : {"entropy", "share_self", "share_previous", "top1_minus_top2", "update_magnitude", "max_weight"})
        for (const std::string& cell : table.at(gap)) EXPECT_EQ(cell, "") << gap;
}

TEST(AnalyzeHeads, TheFirstRowCountsWhenAskedFor) {
    const auto without = columns(headlight({"analyze", "heads", "novella-7m", "--text", kText}).out);
    const auto with = columns(headlight({"analyze", "heads", "novella-7m", "--text", kText, "--include-first-row"}).out);
    const double n = 17;  // with <s>
    for (std::size_t head = 0; head < 48; head += 7) {
        const auto value = [&](const auto& table, const char* name) { return std::stod(table.at(name)[head]); };
        EXPECT_NEAR(value(with, "share_self"), (value(without, "share_self") * (n - 1) + 1) / n, 1e-6);
        EXPECT_NEAR(value(with, "entropy"), value(without, "entropy") * (n - 1) / n, 1e-6);
        EXPECT_NEAR(value(with, "top1_minus_top2"), value(without, "top1_minus_top2"), 1e-9) << "it has no second";
    }
}

TEST(AnalyzeHeads, SeveralTextsAreMeansOfWeightOne) {
    const TempFolder folder;
    const std::string other = "She waited.";
    const auto list = folder.write("texts", kText + "\r\n\n  \n" + other + "\n");
    const auto out = folder / "heads.json";
    done(headlight({"analyze", "heads", "novella-7m", "--texts", list, "--out", out}));
    const json result = json::parse(test::slurp(out));
    EXPECT_EQ(result["facts"]["documents"], 2);
    EXPECT_THAT(result["definitions"]["entropy_smoothed"].get<std::string>(), HasSubstr("0.9999"));
    for (const json& name : result["columns"])
        EXPECT_EQ(result["definitions"].contains(name.get<std::string>()), name != "layer" && name != "head") << name;
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find(result["columns"].begin(), result["columns"].end(), name) -
                                        result["columns"].begin());
    };
    const auto a = columns(headlight({"analyze", "heads", "novella-7m", "--text", kText}).out);
    const auto b = columns(headlight({"analyze", "heads", "novella-7m", "--text", other}).out);
    for (std::size_t head = 0; head < 48; head += 5) {
        const json& row = result["rows"][head];
        EXPECT_NEAR(row[column("entropy")].get<double>(),
                    (std::stod(a.at("entropy")[head]) + std::stod(b.at("entropy")[head])) / 2, 1e-6);
        EXPECT_EQ(b.at("induction")[head], "") << "nothing repeats in the second text";
        EXPECT_NEAR(row[column("induction")].get<double>(), std::stod(a.at("induction")[head]), 1e-6);
        EXPECT_GE(row[column("variability")].get<double>(), 0);
        EXPECT_LE(row[column("variability")].get<double>(), 1);
    }
}

TEST(AnalyzeHeads, MistakesInAListNameTheLine) {
    const TempFolder folder;
    refused(headlight({"analyze", "heads", "novella-7m", "--texts", folder.write("broken", "fine\n\n\xff\n")}), 1,
            testing::AllOf(HasSubstr("line 3"), HasSubstr("UTF-8")));
    refused(headlight({"analyze", "heads", "novella-7m", "--texts", folder.write("blank", "\n \n")}), 1,
            HasSubstr("one text a line"));
    EXPECT_EQ(headlight({"analyze", "heads", "novella-7m", "--texts", folder / "absent"}).code, 1);
}

TEST(AnalyzeInduction, WritesTheProbeOfEveryHead) {
    const std::vector<std::string> call = {"analyze", "induction", "novella-7m", "--n", "20", "--batch", "2", "--seed", "4"};
    const Outcome outcome = done(headlight(call));
    EXPECT_THAT(outcome.out, testing::StartsWith("layer,head,probe_induction,probe_previous,probe_duplicate\n"));
    const auto table = columns(outcome.out);
    EXPECT_EQ(table.at("layer").size(), 48U);
    EXPECT_EQ(headlight(call).out, outcome.out) << "the same seed";
    double best = 0;
    for (const std::string& cell : table.at("probe_induction")) best = std::max(best, std::stod(cell));
    EXPECT_GT(best, 0.2) << "the built-in model has induction heads";
    EXPECT_EQ(headlight({"analyze", "induction", "novella-7m", "--n", "1"}).code, 2);
    refused(headlight({"analyze", "induction", "novella-7m", "--n", "100000"}), 1, HasSubstr("vocabulary"));
}

TEST(AnalyzeDetect, ScoresEveryHead) {
    const auto table = columns(headlight({"analyze", "detect", "novella-7m", "--text", kText, "--kind", "previous-token"}).out);
    const auto heads = columns(headlight({"analyze", "heads", "novella-7m", "--text", kText, "--include-first-row"}).out);
    for (std::size_t head = 0; head < 48; ++head)
        EXPECT_NEAR(std::stod(table.at("score")[head]), std::stod(heads.at("share_previous")[head]), 1e-5);
    EXPECT_EQ(headlight({"analyze", "detect", "novella-7m", "--text", kText}).code, 2);
}

}  // namespace analyze_heads_test
}  // namespace headlight
