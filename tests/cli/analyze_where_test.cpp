// SPDX-License-Identifier: GPL-3.0-or-later
// Questions about heads on the command line: analyze heads --where and --sort, render --where.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headlight {
namespace analyze_where_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

const std::string kText = "The old doctor asked the nurse to wait, because the old doctor was late.";

/// Rows of `analyze heads`, each by the names of its columns.
std::vector<std::map<std::string, json>> rows(const std::vector<std::string>& options) {
    const TempFolder folder;
    const std::string file = folder / "heads.json";
    done(headlight(joined({"analyze", "heads", "novella-7m", "--text", kText, "--out", file}, options)));
    const json result = json::parse(test::slurp(file));
    std::vector<std::map<std::string, json>> out;
    for (const json& row : result.at("rows")) {
        auto& named = out.emplace_back();
        for (std::size_t c = 0; c < row.size(); ++c) named[result.at("columns").at(c).get<std::string>()] = row[c];
    }
    return out;
}

TEST(AnalyzeWhere, KeepsTheHeadsThatMatchInTheOrderAsked) {
    const auto all = rows({});
    ASSERT_EQ(all.size(), 48U);
    const auto some = rows({"--where", "entropy < 1 and distance < 2", "--sort", "mean distance"});
    std::size_t matching = 0;
    for (const auto& row : all) matching += row.at("entropy").get<double>() < 1 && row.at("mean_distance").get<double>() < 2;
    ASSERT_GT(matching, 0U);
    ASSERT_EQ(some.size(), matching);
    for (std::size_t i = 0; i < some.size(); ++i) {
        EXPECT_LT(some[i].at("entropy").get<double>(), 1);
        if (i > 0) {
            EXPECT_GE(some[i - 1].at("mean_distance"), some[i].at("mean_distance"));
        }
    }
    const auto ascending = rows({"--where", "entropy < 1", "--sort", "entropy", "--ascending"});
    for (std::size_t i = 1; i < ascending.size(); ++i) EXPECT_LE(ascending[i - 1].at("entropy"), ascending[i].at("entropy"));
    const auto weighted = rows({"--where", "value-weighted share to first token < 0.1"});
    for (const auto& row : weighted) EXPECT_LT(row.at("vw_share_first").get<double>(), 0.1);
}

TEST(AnalyzeWhere, TheProbeRunsForWhoAsksForIt) {
    EXPECT_TRUE(rows({})[0].at("probe_induction").is_null()) << "not unasked";
    const auto heads = rows({"--where", "induction on random tokens > 0.5", "--sort", "probe_induction"});
    ASSERT_GE(heads.size(), 4U);
    const Outcome probe = done(headlight({"analyze", "induction", "novella-7m", "--n", "50", "--batch", "4"}));
    for (std::size_t i = 0; i < heads.size(); ++i) {
        EXPECT_EQ(heads[i].at("layer").get<int>() >= 4, true);
        const std::string start = "\n" + heads[i].at("layer").dump() + "," + heads[i].at("head").dump() + ",";
        const auto at = probe.out.find(start);
        ASSERT_NE(at, std::string::npos);
        EXPECT_NEAR(heads[i].at("probe_induction").get<double>(), std::stod(probe.out.substr(at + start.size())), 1e-6);
        if (i > 0) {
            EXPECT_GE(heads[i - 1].at("probe_induction"), heads[i].at("probe_induction"));
        }
    }
    EXPECT_FALSE(rows({"--probe"})[0].at("probe_previous").is_null());
}

TEST(AnalyzeWhere, AttentionBecomesAColumn) {
    const std::string term = "attention from `the` to `doctor`";
    const auto found = rows({"--where", term + " > 0.1", "--sort", term});
    ASSERT_FALSE(found.empty());
    double before = 1;
    for (const auto& row : found) {
        const double weight = row.at(term).get<double>();
        EXPECT_GT(weight, 0.1);
        EXPECT_LE(weight, before);
        before = weight;
    }
    // Measures do not depend on how much of the run is kept.
    const auto all = rows({});
    for (const auto& row : found) {
        const auto& plain = all[row.at("layer").get<std::size_t>() * 8 + row.at("head").get<std::size_t>()];
        for (const char* measure : {"entropy", "update_magnitude", "vw_share_first"})
            EXPECT_EQ(row.at(measure), plain.at(measure)) << measure;
    }
    EXPECT_FALSE(rows({"--where", "weighted attention from 9 to 3 >= 0"}).empty());
}

TEST(AnalyzeWhere, NothingFoundIsATableWithoutRows) {
    EXPECT_TRUE(rows({"--where", "entropy > 100"}).empty());
    const Outcome outcome = done(headlight({"analyze", "heads", "novella-7m", "--text", kText, "--where", "entropy > 100"}));
    EXPECT_THAT(outcome.err, HasSubstr("no head matches"));
}

TEST(AnalyzeWhere, MistakesAreWrongUsageWithTheirColumn) {
    const auto says = [](const std::vector<std::string>& options) {
        const Outcome outcome = test::refused(headlight(joined({"analyze", "heads", "novella-7m", "--text", kText}, options)), 2);
        EXPECT_EQ(outcome.out, "");
        return outcome.err;
    };
    EXPECT_THAT(says({"--where", "layer = 1 and inductoin > 0.3"}),
                testing::AllOf(HasSubstr("column 15"), HasSubstr("Did you mean induction?")));
    EXPECT_THAT(says({"--where", "attention from `docter` to `the` > 0"}),
                testing::AllOf(HasSubstr("column 16"), HasSubstr("Did you mean `doctor`")));
    EXPECT_THAT(says({"--where", "update > 0.5"}), HasSubstr("update_inner"));
    EXPECT_THAT(says({"--sort", "entropi"}), HasSubstr("--sort"));
    EXPECT_THAT(says({"--ascending"}), HasSubstr("--sort"));
}

TEST(RenderWhere, FadesHeadsAndSaysSoInTheFile) {
    const TempFolder folder;
    const auto render = [&](const std::string& name, const std::vector<std::string>& more) {
        const std::string file = folder / name;
        const Outcome outcome =
            done(headlight(joined({"render", "novella-7m", "--text", kText, "--view", "model", "--out", file}, more)));
        return std::pair(test::slurp(file), outcome.err);
    };
    const auto [plain, nothing] = render("plain.svg", {});
    const auto [faded, said] = render("faded.svg", {"--where", "entropy < 1"});
    EXPECT_NE(plain, faded);
    EXPECT_THAT(faded, HasSubstr("--where 'entropy &lt; 1'"));
    const auto [none, note] = render("none.svg", {"--where", "entropy > 100"});
    EXPECT_EQ(none, plain) << "no head matches: every head in full";
    EXPECT_THAT(note, HasSubstr("no head matches"));
    const Outcome wrong = test::headlight({"render", "novella-7m", "--text", kText, "--view", "neuron", "--where", "layer = 1",
                                           "--out", (folder.path() / "x.svg").string()});
    EXPECT_EQ(wrong.code, 2);
}

}  // namespace analyze_where_test
}  // namespace headlight
