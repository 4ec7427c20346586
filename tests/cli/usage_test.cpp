// SPDX-License-Identifier: GPL-3.0-or-later
// Exit codes, help, and what a wrong call is answered with.
#include "cli/command.h"
#include "cli/options.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::cli {
namespace usage_test {

using test::done;
using test::headlight;
using test::Outcome;
using test::program;
using test::refused;
using testing::HasSubstr;
using testing::IsEmpty;

/// Those of two words.
std::vector<Command> of_groups() {
    std::vector<Command> all;
    for (const CommandGroup& group : command_groups()) all.insert(all.end(), group.commands.begin(), group.commands.end());
    return all;
}

std::vector<Command> every_command() {
    std::vector<Command> all(commands().begin(), commands().end());
    const std::vector<Command> own = of_groups();
    all.insert(all.end(), own.begin(), own.end());
    return all;
}

TEST(Help, OfTheProgramNamesEveryCommand) {
    const Outcome help = done(program({"--help"}));
    EXPECT_THAT(help.err, IsEmpty());
    for (const Command& command : commands()) EXPECT_THAT(help.out, HasSubstr("\n  " + std::string(command.name) + " "));
}

/// docs/cli.md says of options what the commands themselves say.
TEST(Reference, OptionsInTheDocumentAreThoseOfTheCommands) {
    const std::string page = test::slurp(std::string(HEADLIGHT_SOURCE_DIR) + "/docs/cli.md"), open = "<!-- options -->\n",
                      close = "<!-- /options -->\n";
    const std::size_t begin = page.find(open), end = page.find(close);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const test::Outcome printed = test::done(test::headlight({"man", "--options"}));
    ASSERT_GT(printed.out.size(), 10'000U);
    EXPECT_EQ(page.substr(begin + open.size(), end - begin - open.size()), printed.out)
        << "put what `headlight man --options` prints between the two marks";
}

// Two real examples each: what they name must be options that the command has.
TEST(Help, OfEveryCommandShowsTwoExamples) {
    for (const Command& command : every_command()) {
        const Built built = build(command, {});
        const std::string help = built.definition.app->help();
        for (const std::string_view example : command.examples) {
            EXPECT_THAT(help, HasSubstr("\n  " + std::string(example) + "\n"));
            EXPECT_THAT(std::string(example), HasSubstr("headlight " + std::string(command.name)));
            const std::string own(example.substr(0, example.find(" | ")));
            const Command* shown = &command;
            const std::vector<Command> two_words = of_groups();
            for (const Command& each : two_words)
                if (own.starts_with("headlight " + std::string(each.name) + " ")) shown = &each;
            const Built its = build(*shown, {});
            for (std::size_t at = own.find(" --"); at != std::string::npos; at = own.find(" --", at + 1)) {
                const std::string option = own.substr(at + 1, own.find_first_of(" =", at + 1) - at - 1);
                EXPECT_NE(its.definition.app->get_option_no_throw(option), nullptr) << example << ": " << option;
            }
        }
    }
}

TEST(Help, OfAGroupNamesItsCommands) {
    for (const CommandGroup& group : command_groups()) {
        const Outcome help = done(test::headlight({std::string(group.name), "--help"}));
        for (const Command& each : group.commands) {
            EXPECT_THAT(help.out, HasSubstr("\n  " + std::string(analysis_name(each)) + " "));
            EXPECT_THAT(help.out, HasSubstr(std::string(each.summary)));
            const Outcome own = done(test::headlight({std::string(group.name), std::string(analysis_name(each)), "--help"}));
            EXPECT_THAT(own.out, HasSubstr("headlight " + std::string(each.name) + " "));
        }
    }
}

TEST(Help, VersionGoesToStandardOutput) {
    const Outcome version = done(program({"--version"}));
    EXPECT_THAT(version.out, testing::MatchesRegex("headlight [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

struct WrongCall {
    const char* name;
    std::vector<std::string> arguments;
    std::string message;
};
void PrintTo(const WrongCall& c, std::ostream* out) { *out << c.name; }

class WrongUsage : public testing::TestWithParam<WrongCall> {};

TEST_P(WrongUsage, IsCodeTwoAndNamesTheNearestWord) {
    const Outcome outcome = test::headlight(GetParam().arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
    EXPECT_THAT(outcome.err, HasSubstr("--help"));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongUsage,
    testing::Values(
        WrongCall{"MisspeltCommand", {"tokenise", "novella-7m", "--json"}, "did you mean headlight tokenize?"},
        WrongCall{"MisspeltCommandAlone", {"tokenzie"}, "did you mean headlight tokenize?"},
        WrongCall{"MisspeltOption", {"tokenize", "novella-7m", "--txt", "x"}, "Unknown option --txt; did you mean --text?"},
        WrongCall{"MisspeltOptionWithValue", {"tokenize", "novella-7m", "--tex=x"}, "did you mean --text?"},
        WrongCall{"OptionOfAnotherCommand", {"--side", "b"}, "Unknown option --side; it belongs to headlight render\n"},
        WrongCall{"SelectionBesideASession",
                  {"open", HEADLIGHT_SOURCE_DIR "/tests/fixtures/first_look.headlight", "--layer", "3"},
                  "says what is selected: leave --view"},
        WrongCall{"OptionLikeNoOther", {"--thumb", "x"}, "Unknown option --thumb\n"},
        WrongCall{"NoModel", {"tokenize", "--text", "x"}, "MODEL is required"},
        WrongCall{"NoText", {"tokenize", "novella-7m"}, "a text is needed"},
        WrongCall{"OptionWithoutValue", {"tokenize", "novella-7m", "--text"}, "--text"},
        WrongCall{"TwoTexts", {"tokenize", "novella-7m", "--text", "a", "--text-file", "b"}, "--text excludes --text-file"},
        WrongCall{"OneWordTooMany", {"tokenize", "novella-7m", "The", "--text", "x"}, "One word too many: The"},
        WrongCall{"WrongShell", {"completion", "bsh"}, "\"bsh\" is not one of bash zsh fish; did you mean bash?"},
        WrongCall{"AnalyzeAlone", {"analyze"}, "NAME is required"},
        WrongCall{"MisspeltAnalysis", {"analyze", "haeds", "novella-7m", "--text", "x"}, "did you mean heads?"},
        WrongCall{"UnknownAnalysis", {"analyze", "quaternion"}, "\"quaternion\" is not one of heads"},
        WrongCall{"OptionOfAnalysis", {"analyze", "heads", "novella-7m", "--txt", "x"}, "did you mean --text?"},
        WrongCall{"AnalysisWithoutText", {"analyze", "heads", "novella-7m"}, "a text is needed"},
        WrongCall{"TextAndTexts", {"analyze", "heads", "novella-7m", "--text", "x", "--texts", "f"}, "--text excludes --texts"},
        WrongCall{"AnalysisToAPicture", {"analyze", "heads", "novella-7m", "--text", "x", "--out", "a.png"}, ".csv"},
        WrongCall{"NegativeSize",
                  {"generate", "novella-7m", "--text", "x", "--temperature", "-1"},
                  "expected a number from 0 to 1000, found -1"},
        WrongCall{"NegativeCount",
                  {"generate", "novella-7m", "--text", "x", "--top-k", "2.5"},
                  "expected a whole number from 0 to 1000000, found 2.5"},
        WrongCall{"WrongDevice", {"--device", "gpu"}, "\"gpu\" is not one of auto cpu cuda"}),
    [](const auto& c) { return std::string(c.param.name); });

TEST(Window, NoDisplayAndWrongModelsAreToldWithoutOne) {
    refused(program({}), 1, HasSubstr("no display"));
    refused(program({"/nonexistent/model"}), 1, HasSubstr("/nonexistent/model"));
    EXPECT_EQ(headlight({"--text", ""}).code, 1);
}

TEST(IndexList, TakesNumbersAndRanges) {
    using testing::ElementsAre;
    EXPECT_THAT(parse_index_list("5", "--heads"), ElementsAre(5));
    EXPECT_THAT(parse_index_list("4-6,0,5", "--heads"), ElementsAre(0, 4, 5, 6));
    for (const char* wrong : {"", "a", "1,", ",1", "3-1", "-1", "1-", "1.5", "99999999999999999999", "0-9999999999"})
        EXPECT_THROW(parse_index_list(wrong, "--heads"), UsageError) << wrong;
}

TEST(Completion, KnowsEveryCommandAndOption) {
    const std::vector<Command> all = every_command();
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const Outcome script = done(test::headlight({"completion", shell}));
        for (const Command& command : all) {
            EXPECT_THAT(script.out, HasSubstr(std::string(analysis_name(command)))) << shell;
            const Built built = build(command, {});
            for (const CLI::Option* option : built.definition.app->get_options())
                for (const std::string& name : option->get_lnames())
                    EXPECT_THAT(script.out, HasSubstr((shell == std::string("fish") ? "-l " : "--") + name)) << shell;
        }
    }
}

/// What bash offers after the words of a line, the last of which is being typed.
std::string bash_offers(const std::string& words, int count) {
    const test::TempFolder folder;
    const std::string script = folder.write("complete", test::headlight({"completion", "bash"}).out);
    const std::string command = "bash --norc -c 'source " + script + "; COMP_WORDS=(" + words +
                                "); COMP_CWORD=" + std::to_string(count) + "; _headlight; echo \"${COMPREPLY[@]}\"' > " +
                                (folder / "offers").string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    return test::slurp(folder / "offers");
}

TEST(Completion, WorksInBash) {
    EXPECT_EQ(bash_offers("headlight tok", 1), "tokenize\n");
    EXPECT_EQ(bash_offers("headlight tokenize --te", 2), "--text --text-file\n");
    EXPECT_EQ(bash_offers("headlight completion z", 2), "zsh\n");
    EXPECT_EQ(bash_offers("headlight tokenize nov", 2), "novella-7m\n");
    EXPECT_EQ(bash_offers("headlight --device c", 2), "cpu cuda\n");
    EXPECT_EQ(bash_offers("headlight analyze hea", 2), "heads\n");
    EXPECT_EQ(bash_offers("headlight analyze heads nov", 3), "novella-7m\n");
    EXPECT_EQ(bash_offers("headlight analyze heads --tex", 3), "--text --text-file --texts\n");
    EXPECT_EQ(bash_offers("headlight analyze detect novella-7m --kind ind", 5), "induction\n");
    EXPECT_EQ(bash_offers("headlight analyze detect --include", 3), "\n") << "an option of another analysis";
    EXPECT_EQ(bash_offers("headlight analyze heads --text-", 3), "--text-file\n");
    EXPECT_EQ(bash_offers("headlight analyze heads --device c", 4), "cpu cuda\n");
    EXPECT_EQ(bash_offers("headlight corpus me", 2), "merge\n");
    EXPECT_EQ(bash_offers("headlight corpus run --unit p", 4), "paragraph\n");
}

/// What the program's own help lists may stand before a command that has it too.
TEST(Usage, OptionsMayStandBeforeTheCommand) {
    const Outcome usual = done(headlight({"tokenize", "novella-7m", "--text", "Hi there"}));
    for (const std::vector<std::string>& before :
         {std::vector<std::string>{"-q"}, {"--quiet"}, {"--text", "Hi there"}, {"--text=Hi there", "-q"}}) {
        std::vector<std::string> words = before;
        words.insert(words.end(), {"tokenize", "novella-7m"});
        if (before.front().find("text") == std::string::npos) words.insert(words.end(), {"--text", "Hi there"});
        EXPECT_EQ(done(headlight(words)).out, usual.out) << testing::PrintToString(words);
    }
    EXPECT_THAT(done(headlight({"-q", "corpus", "run", "--help"})).out, HasSubstr("headlight corpus run"));
    EXPECT_THAT(done(headlight({"--help", "render"})).out, HasSubstr("headlight render"));
    refused(headlight({"--pair", "Hi", "corpus", "info", "store"}), 2, HasSubstr("Unknown option --pair"));
    // The value of an option is no command.
    refused(headlight({"--text", "render"}), 1, HasSubstr("window"));
    EXPECT_THAT(done(headlight({"--version"})).out, HasSubstr("headlight "));
}

TEST(Man, HasEveryCommandAndOption) {
    const Outcome man = done(test::headlight({"man"}));
    EXPECT_THAT(man.out, testing::StartsWith(".TH HEADLIGHT 1"));
    const auto has = [&](std::string_view command) {
        std::string name;  // as roff wants a hyphen
        for (const char c : command) name += c == '-' ? std::string("\\-") : std::string(1, c);
        EXPECT_THAT(man.out, HasSubstr(".SS " + name + "\n"));
    };
    for (const Command& command : commands()) has(command.name);
    for (const Command& each : of_groups()) has(each.name);
    EXPECT_THAT(man.out, HasSubstr("\\fB\\-\\-text\\-file\\fR"));
}

TEST(Program, IdleThreadsSleepUnlessTheUserSaysOtherwise) {
    const auto shown = [](const char* spin_count) {
        return test::in_child([&] {
                   ::unsetenv("OMP_WAIT_POLICY");
                   spin_count ? ::setenv("GOMP_SPINCOUNT", spin_count, 1) : ::unsetenv("GOMP_SPINCOUNT");
                   ::setenv("OMP_DISPLAY_ENV", "verbose", 1);
                   ::execl(HEADLIGHT_PROGRAM, HEADLIGHT_PROGRAM, "--version", nullptr);
                   return 127;
               })
            .err;
    };
    const std::string usual = shown(nullptr);
    if (usual.find("GOMP_SPINCOUNT") == std::string::npos) GTEST_SKIP() << "not GCC's OpenMP";
    EXPECT_THAT(usual, HasSubstr("GOMP_SPINCOUNT = '0'"));
    EXPECT_THAT(shown("1234"), HasSubstr("GOMP_SPINCOUNT = '1234'"));
}

}  // namespace usage_test
}  // namespace headlight::cli
