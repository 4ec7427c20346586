// SPDX-License-Identifier: GPL-3.0-or-later
// analyze sparsity and analyze reach, as a user runs them.
#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headlight {
namespace analyze_long_test {

using test::built_in_model;
using test::done;
using test::headlight;
using test::joined;
using test::lines_of;
using test::Outcome;
using test::refused;
using testing::HasSubstr;

constexpr const char* text = "The old doctor asked the nurse to wait.\n\nThe cats asked; the old cat waited for the nurse.";

TEST(AnalyzeSparsity, WritesARowForEachHeadAndEveryScheme) {
    const std::vector<std::pair<std::string, std::vector<std::string>>> schemes{
        {"nsa", {"--window", "3", "--block", "2", "--stride", "1", "--select", "2", "--top", "3"}},
        {"window", {"--window", "3"}},
        {"sinks", {"--window", "3", "--sinks", "1"}},
        {"topk", {"--budget", "4"}}};
    for (const auto& [scheme, sizes] : schemes) {
        const Outcome run =
            done(headlight(joined({"analyze", "sparsity", built_in_model(), "--text", text, "--scheme", scheme}, sizes)));
        const auto lines = lines_of(run.out);
        ASSERT_EQ(lines.size(), 49u);
        EXPECT_TRUE(lines[0].starts_with("layer,head,scheme,kept_mass_mean,kept_mass_p10,pairs_share,kv_share,")) << lines[0];
        EXPECT_TRUE(lines[1].find(scheme) != std::string::npos) << lines[1];
    }
    refused(headlight({"analyze", "sparsity", built_in_model(), "--text", text, "--block", "2", "--stride", "3"}), 1,
            HasSubstr("stride"));
    const std::string bert = test::fixture("models/bert");
    EXPECT_EQ(headlight({"analyze", "sparsity", bert, "--text", text}).code, 1);
    const std::vector<std::string> windows{built_in_model(), "--text", text, "--scheme", "window", "--block", "16"};
    refused(headlight(joined({"analyze", "sparsity"}, windows)), 2, HasSubstr("--block is for --scheme nsa"));
    refused(headlight(joined(joined({"render"}, windows), {"--view", "sparsity", "--out", "s.svg"})), 2,
            HasSubstr("--block is for --scheme nsa"));
}

TEST(AnalyzeReach, MarksAPassageAndListsWhatAHeadMoves) {
    const Outcome run = done(headlight({"analyze", "reach", built_in_model(), "--text", text, "--passage", "the nurse"}));
    EXPECT_EQ(lines_of(run.out).size(), 49u);
    EXPECT_NE(run.out.find("distance_16"), std::string::npos);
    const Outcome moved =
        done(headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7", "--layer", "4", "--head", "5"}));
    EXPECT_EQ(lines_of(moved.out).size(), 8u);
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--passage", "marmalade"}).code, 1);
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7"}).code, 2) << "of which head";
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--layer", "4", "--head", "5"}).code, 2);
    refused(headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7", "--layer", "4", "--head", "5",
                       "--passage", "the nurse"}),
            2);
}

}  // namespace analyze_long_test
}  // namespace headlight
