// SPDX-License-Identifier: GPL-3.0-or-later
// The program on a desktop whose language writes decimals with a comma: Qt takes that locale over for the whole process.
#include "tests/cli/program.h"

#include <clocale>
#include <cstdlib>
#include <regex>

namespace headlight {
namespace locale_test {

using test::done;
using test::headlight;
using test::joined;

class German : public testing::Test {
protected:
    void SetUp() override {
        const std::string build = "localedef -i de_DE -f UTF-8 '" + (folder_ / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
        [[maybe_unused]] const int status = std::system(build.c_str());  // also 1 for a warning
        const auto comma = [] { return std::setlocale(LC_ALL, "") && *std::localeconv()->decimal_point == ',' ? 0 : 1; };
        if (test::in_child(comma, "", german_).code != 0)
            GTEST_SKIP() << "no locale with a decimal comma: localedef needs the package locales";
    }
    /// What the command writes into a file, under a locale.
    std::string written(const std::vector<std::string>& command, const std::string& file,
                        const std::map<std::string, std::string>& environment) {
        const test::Outcome outcome = done(headlight(joined(command, {"--out", folder_ / file}), "", environment));
        static const std::regex comma(R"((^|[^0-9])0,[0-9]|[0-9],[0-9](?![0-9][0-9]([^0-9]|$)))");
        EXPECT_FALSE(std::regex_search(outcome.err, comma)) << outcome.err;
        return test::slurp(folder_ / file);
    }

    const test::TempFolder folder_;
    const std::map<std::string, std::string> german_{{"LOCPATH", folder_.path().string()}, {"LC_ALL", "de_DE.UTF-8"}};
};

TEST_F(German, FilesAreThoseOfTheCLocale) {
    const char *clean = "The queen met the doctor and then", *corrupt = "The king met the doctor and then";
    const std::vector<std::string> sweep{"sweep",    "novella-7m", "--clean", clean, "--corrupt", corrupt,
                                         "--answer", " she",       "--wrong", " he", "--layers",  "4"},
        map{"map", "novella-7m", "--text", clean, "--layer", "1", "--head", "1"},
        graph{"render", "novella-7m", "--text", clean, "--view", "contribution-graph", "--threshold", "0.05"};
    const std::vector<std::pair<std::vector<std::string>, std::string>> files{
        {sweep, "s.svg"}, {sweep, "s.json"}, {map, "m.svg"}, {map, "m.csv"}, {graph, "g.svg"}};
    for (const auto& [command, file] : files)
        EXPECT_EQ(written(command, file, german_), written(command, file, {{"LC_ALL", "C.UTF-8"}})) << file;
}

}  // namespace locale_test
}  // namespace headlight
