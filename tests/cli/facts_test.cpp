// SPDX-License-Identifier: GPL-3.0-or-later
// The facts of JSON results: numbers at full precision, truth values, lists.
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <cmath>

namespace headlight {
namespace facts_test {

using test::done;
using test::headlight;
using test::joined;

const char *const kClean = "The queen met the doctor and then", *const kCorrupt = "The king met the doctor and then";

nlohmann::json result_of(const std::vector<std::string>& command) {
    const test::TempFolder folder;
    done(headlight(joined(command, {"--out", folder / "r.json"})));
    return test::read_result(folder / "r.json");
}

TEST(Facts, OfASweepAreWhatItsCellsWereSubtractedFrom) {
    const auto sweep = result_of({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " she", "--wrong",
                                  " he", "--to", "L4H7.k", "--to", "L5H7.q", "--layers", "0"});
    const auto& facts = sweep["facts"];
    EXPECT_EQ(facts["to"].get<std::vector<std::string>>(), (std::vector<std::string>{"L4H7.k", "L5H7.q"})) << "each of them";
    const auto& cell = sweep["rows"][0];
    EXPECT_EQ(facts["effect"], "direct") << "that of a path";
    EXPECT_EQ(facts["layers"], 0) << "a number";
    EXPECT_NEAR(facts["corrupt_metric"].get<double>(), cell[2].get<double>() - cell[3].get<double>(), 1e-6);
    EXPECT_NE(facts["clean_metric"].get<double>(), std::round(1000 * facts["clean_metric"].get<double>()) / 1000);
}

TEST(Facts, AreNoTextsWhereTheyAreNumbers) {
    const std::vector<std::vector<std::string>> commands = {
        {"map", "novella-7m", "--text", "The queen met the doctor and then the king met the nurse, who was late.", "--method",
         "tsne", "--layer", "1", "--head", "1"},
        {"sweep", "novella-7m", "--clean", kClean, "--at", "who=The queen", "--noise", "who", "--answer", " she", "--metric",
         "prob", "--layers", "0"},
        {"analyze", "detect", "novella-7m", "--text", "one two one two", "--kind", "previous-token"},
        {"analyze", "attention-gradient", "novella-7m", "--text", kClean},
        {"analyze", "edits", "novella-7m", "--text", kClean, "--edit", "zero L3H1"},
        {"analyze", "heads", "novella-7m", "--text", kClean},
        {"analyze", "ov", "novella-7m", "--layer", "5", "--head", "7"}};
    for (const auto& command : commands) EXPECT_GT(result_of(command)["facts"].size(), 2u) << command[1];
}

}  // namespace facts_test
}  // namespace headlight
