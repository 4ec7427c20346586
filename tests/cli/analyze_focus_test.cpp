// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight {
namespace analyze_focus_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::lines_of;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

const std::string kText = "The old doctor asked the nurse to wait.";

std::vector<std::string> focus(const std::vector<std::string>& more) {
    return joined({"analyze", "focus", "novella-7m", "--text", kText, "--layer", "4", "--head", "5", "-q"}, more);
}

TEST(AnalyzeFocus, OneRowAQueryWithTermsThatSumToTheScore) {
    const TempFolder folder;
    const std::string file = folder / "focus.json";
    done(headlight(focus({"--sort-idx", "1", "--out", file})));
    const json found = json::parse(test::slurp(file));
    const json columns = {"query",     "query_token",    "key",   "key_token",  "position_term",
                          "bias_term", "quadratic_term", "score", "probability"};
    EXPECT_EQ(found["columns"], columns);
    const auto n = json::parse(headlight({"tokenize", "novella-7m", "--text", kText, "--json"}).out)["ids"].size();
    ASSERT_EQ(found["rows"].size(), n);
    for (std::size_t i = 0; i < n; ++i) {
        const json& row = found["rows"][i];
        EXPECT_EQ(row[0], i);
        if (i == 0) {
            for (std::size_t c = 2; c < columns.size(); ++c) EXPECT_TRUE(row[c].is_null()) << "one target: no second";
            continue;
        }
        EXPECT_NEAR(row[4].get<double>() + row[5].get<double>() + row[6].get<double>(), row[7].get<double>(), 1e-4);
        EXPECT_LE(row[8].get<double>(), 0.5) << "the second largest";
    }
    EXPECT_EQ(found["facts"]["position"], "ALiBi");
    EXPECT_THAT(found["definitions"]["bias_term"].get<std::string>(), HasSubstr("b_q"));
}

TEST(AnalyzeFocus, CsvOnStandardOutputAndEveryPair) {
    const Outcome ranked = done(headlight(focus({})));
    EXPECT_EQ(lines_of(ranked.out).front(),
              "query,query_token,key,key_token,position_term,bias_term,quadratic_term,score,probability");
    const std::size_t n = lines_of(ranked.out).size() - 1;
    EXPECT_EQ(lines_of(headlight(focus({"--all-targets"})).out).size(), n * (n + 1) / 2 + 1);
    EXPECT_EQ(lines_of(headlight(focus({"--five-terms"})).out).front(),
              "query,query_token,key,key_token,position_term,bias_term,quadratic_term,key_bias_term,constant_term,"
              "score,probability");
}

TEST(AnalyzeFocus, WhatDoesNotExistIsNamed) {
    const auto call = [](const std::string& layer, const std::string& head, const std::string& rank) {
        return headlight(
            {"analyze", "focus", "novella-7m", "--text", kText, "--layer", layer, "--head", head, "--sort-idx", rank});
    };
    EXPECT_EQ(call("6", "0", "0").code, 1);
    EXPECT_THAT(call("6", "0", "0").err, HasSubstr("layer 0 to 5"));
    EXPECT_THAT(call("0", "8", "0").err, HasSubstr("head 0 to 7"));
    EXPECT_THAT(call("0", "0", "400").err, HasSubstr("sort_idx"));
    EXPECT_EQ(call("0", "0", "-1").code, 2);
    EXPECT_EQ(headlight(focus({"--all-targets", "--sort-idx", "1"})).code, 2);
    EXPECT_EQ(headlight({"analyze", "focus", "novella-7m", "--text", kText, "--layer", "0"}).code, 2) << "which head?";
}

TEST(AnalyzeRollout, RowsAndFlows) {
    const auto with = [](const std::vector<std::string>& more) {
        return headlight(joined({"analyze", "rollout", "novella-7m", "--text", kText, "-q"}, more));
    };
    const Outcome all = done(with({}));
    EXPECT_EQ(lines_of(all.out).front(), "layer,query,query_token,key,key_token,rollout");
    const std::size_t rows = lines_of(all.out).size() - 1;
    EXPECT_EQ(rows % 6, 0U);
    const Outcome one = with({"--layer", "5", "--flow"});
    EXPECT_EQ(lines_of(one.out).front(), "layer,query,query_token,key,key_token,rollout,flow");
    EXPECT_EQ(lines_of(one.out).size() - 1, rows / 6);
    EXPECT_EQ(lines_of(one.out)[1].substr(0, 10), "5,0,\"<s>\",");
    std::vector<std::string> of_query;
    for (const std::string& line : lines_of(one.out))
        if (line.starts_with("layer,") || line.starts_with("5,2,")) of_query.push_back(line);
    // One query's rows of the table; the last digits depend on how a processor sums products of other sizes.
    const std::vector<std::string> rows_of_query = lines_of(with({"--layer", "5", "--flow", "--query", "2"}).out);
    ASSERT_EQ(rows_of_query.size(), of_query.size());
    for (std::size_t i = 0; i < of_query.size(); ++i) EXPECT_EQ(rows_of_query[i].substr(0, 22), of_query[i].substr(0, 22));
    EXPECT_THAT(with({"--query", "400"}).err, HasSubstr("query"));
    const TempFolder folder;
    done(with({"--out", folder / "r.npz"}));
    EXPECT_EQ(folder.count(), 1U);
    EXPECT_EQ(with({"--head", "1", "--flow"}).code, 2);
    EXPECT_THAT(with({"--layer", "6"}).err, HasSubstr("layer 0 to 5"));
    EXPECT_THAT(with({"--head", "8"}).err, HasSubstr("head 0 to 7"));
}

}  // namespace analyze_focus_test
}  // namespace headlight
