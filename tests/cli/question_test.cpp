// SPDX-License-Identifier: GPL-3.0-or-later
// A question by its name alone: the file that is asked for decides between its numbers and its picture.
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headlight::cli {
namespace question_test {

using test::done;
using test::headlight;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;

const std::vector<std::string> kText = {"novella-7m", "--text", "The doctor asked the nurse."};

std::vector<std::string> joined(std::vector<std::string> first, const std::vector<std::string>& more) {
    first.insert(first.end(), kText.begin(), kText.end());
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

TEST(Question, PrintsTheNumbersOfItsAnalysis) {
    EXPECT_EQ(done(headlight(joined({"lens"}, {"--top", "2"}))).out,
              done(headlight(joined({"analyze", "lens"}, {"--top", "2"}))).out);
    EXPECT_EQ(done(headlight(joined({"dla"}, {"--token", " nurse", "--position", "2"}))).out,
              done(headlight(joined({"analyze", "attribution"}, {"--token", " nurse", "--query", "2"}))).out)
        << "position and query are one option";
}

TEST(Question, DrawsItsViewIntoAPicture) {
    const TempFolder folder;
    const auto drawn = [&](const std::string& name, const std::vector<std::string>& more, const std::string& file) {
        std::vector<std::string> options = more;
        options.insert(options.end(), {"--out", folder / file});
        done(headlight(joined({name}, options)));
        return test::slurp(folder / file);
    };
    EXPECT_THAT(drawn("lens", {"--position", "2"}, "lens.svg"), HasSubstr("--view lens"));
    EXPECT_THAT(drawn("attention-gradient", {}, "gradient.svg"), HasSubstr("--view clark-gradients"));
    EXPECT_THAT(drawn("ov", {"--layer", "5", "--head", "7"}, "ov.svg"), HasSubstr("--view head-circuit"));
    const std::vector<std::string> options{"--layer", "4", "--head", "5"};
    const std::string alone = drawn("matrix", options, "matrix.csv");
    std::vector<std::string> whole = options;
    whole.insert(whole.end(), {"--view", "matrix", "--out", folder / "render.csv"});
    done(headlight(joined({"render"}, whole)));
    EXPECT_EQ(alone, test::slurp(folder / "render.csv")) << "a view has its data";
}

TEST(Question, MayFollowOptions) {
    const auto quiet = headlight({"-q", "lens", "novella-7m", "--text", "The doctor asked the nurse.", "--top", "2"});
    EXPECT_EQ(done(quiet).out, done(headlight(joined({"lens"}, {"--top", "2"}))).out);
}

TEST(Question, NamesWhatIsMissing) {
    refused(headlight(joined({"matrix"}, {})), 2, HasSubstr("--out is required"));
    refused(headlight(joined({"heads"}, {"--out", "heads.svg"})), 2, HasSubstr(".csv"));
    refused(headlight({"atribution", "novella-7m"}), 2, HasSubstr("attribution"));
}

}  // namespace question_test
}  // namespace headlight::cli
