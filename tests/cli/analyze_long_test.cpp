// SPDX-License-Identifier: GPL-3.0-or-later
// analyze sparsity and analyze reach, as a user runs them.
#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace headlight {
namespace analyze_long_test {

using test::built_in_model;
using test::headlight;

constexpr const char* text = "The old doctor asked the nurse to wait.\n\nThe cats asked; the old cat waited for the nurse.";

std::vector<std::string> lines_of(const std::string& out) {
    std::vector<std::string> lines;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

TEST(AnalyzeSparsity, WritesARowForEachHeadAndEveryScheme) {
    for (const char* scheme : {"nsa", "window", "sinks", "topk"}) {
        const auto run = headlight({"analyze", "sparsity", built_in_model(),
                                    "--text",  text,       "--scheme",
                                    scheme,    "--window", "3",
                                    "--block", "2",        "--stride",
                                    "1",       "--select", "2",
                                    "--top",   "3",        "--sinks",
                                    "1",       "--budget", "4"});
        ASSERT_EQ(run.code, 0) << run.err;
        const auto lines = lines_of(run.out);
        ASSERT_EQ(lines.size(), 49u);
        EXPECT_TRUE(lines[0].starts_with("layer,head,scheme,kept_mass_mean,kept_mass_p10,pairs_share,kv_share,")) << lines[0];
        EXPECT_TRUE(lines[1].find(scheme) != std::string::npos) << lines[1];
    }
    const auto wrong = headlight({"analyze", "sparsity", built_in_model(), "--text", text, "--block", "2", "--stride", "3"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_NE(wrong.err.find("stride"), std::string::npos) << wrong.err;
    const std::string bert = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/models/bert";
    EXPECT_EQ(headlight({"analyze", "sparsity", bert, "--text", text}).code, 1);
}

TEST(AnalyzeReach, MarksAPassageAndListsWhatAHeadMoves) {
    const auto run = headlight({"analyze", "reach", built_in_model(), "--text", text, "--passage", "the nurse"});
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(lines_of(run.out).size(), 49u);
    EXPECT_NE(run.out.find("distance_16"), std::string::npos);
    const auto moved =
        headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7", "--layer", "4", "--head", "5"});
    ASSERT_EQ(moved.code, 0) << moved.err;
    EXPECT_EQ(lines_of(moved.out).size(), 8u);
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--passage", "marmalade"}).code, 1);
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7"}).code, 2) << "of which head";
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--layer", "4", "--head", "5"}).code, 2);
    EXPECT_EQ(headlight({"analyze", "reach", built_in_model(), "--text", text, "--moved", "7", "--layer", "4", "--head", "5",
                         "--passage", "the nurse"})
                  .code,
              2);
}

}  // namespace analyze_long_test
}  // namespace headlight
