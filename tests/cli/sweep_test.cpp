// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/npz.h"
#include "tests/cli/facts.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace headlight {
namespace sweep_command_test {

using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::StartsWith;

const char *kClean = "The queen met the doctor and then", *kCorrupt = "The king met the doctor and then";

std::vector<std::string> with(const std::vector<std::string>& more) {
    return joined({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " she", "--wrong", " he"}, more);
}

TEST(SweepCommand, HeadsAsCsv) {
    const Outcome outcome = done(headlight(with({})));
    EXPECT_THAT(outcome.out, StartsWith("layer,head,value,effect,normalized,state\n0,0,"));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1 + 48);
    EXPECT_THAT(outcome.err, HasSubstr("48 cells (48 computed)"));
}

TEST(SweepCommand, AttributionAndItsError) {
    const TempFolder folder;
    const Outcome both = done(headlight(with({"--method", "both", "--site", "q"})));
    EXPECT_THAT(both.out, StartsWith("layer,head,value,effect,normalized,estimate,error,state\n0,0,"));
    done(headlight(with({"--method", "both", "--site", "q", "--out", folder / "s.svg"})));
    EXPECT_THAT(test::slurp(folder / "s.svg"), testing::AllOf(HasSubstr("error of attribution"), HasSubstr("--method both")));
    EXPECT_EQ(headlight({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " she", "--method",
                         "attribution", "--metric", "rank"})
                  .code,
              1);
}

TEST(SweepCommand, APathThroughTheKeysOfAHead) {
    const TempFolder folder;
    const Outcome path = done(headlight(with({"--to", "L4H7.k"})));
    EXPECT_THAT(path.out, HasSubstr("\n4,0,"));
    const auto behind = path.out.find("\n4,0,");
    EXPECT_EQ(path.out.find("certain"), path.out.find("certain", behind)) << "heads of the layer itself are not on the way";
    EXPECT_NE(path.out.find("certain"), std::string::npos);
    done(headlight(with({"--to", "L4H7.k", "--to", "L5H7.q", "--out", folder / "s.svg"})));
    EXPECT_THAT(test::slurp(folder / "s.svg"),
                testing::AllOf(HasSubstr("through L4H7.k, L5H7.q"), HasSubstr("--to L4H7.k --to L5H7.q")));
    refused(headlight(with({"--to", "L4.mlp"})), 1, HasSubstr("L5H7.k"));
    EXPECT_EQ(headlight(with({"--to", "L4H7.k", "--method", "attribution"})).code, 1);
}

TEST(SweepCommand, AFileOfPairsAsNpzAndJson) {
    const TempFolder folder;
    const auto pairs = folder.write(
        "pairs.jsonl",
        R"({"clean": "The queen met the doctor and then", "corrupt": "The king met the doctor and then", "answer": " she", "wrong": [" he"]})"
        "\n"
        R"({"clean": "The queen saw the nurse and then", "corrupt": "The king saw the nurse and then", "answer": " she", "wrong": [" he"]})"
        "\n");
    const std::string npz = folder / "s.npz", json = folder / "s.json";
    const auto run = [&](const std::string& out) {
        return headlight({"sweep", "novella-7m", "--pairs", pairs, "--site", "resid_pre", "--direction", "noise", "--draws",
                          "200", "--out", out});
    };
    done(run(npz));
    const io::NpzContent content = io::read_npz(npz);
    const std::int64_t cells = content.arrays.at("effect").shape[0];
    EXPECT_EQ(content.arrays.at("effects").shape, (std::vector<std::int64_t>{2, cells}));
    for (const char* column : {"layer", "position", "stderr", "low", "high", "agreeing"})
        EXPECT_EQ(content.arrays.at(column).shape[0], cells) << column;
    done(run(json));
    const nlohmann::json document = test::read_result(json);
    EXPECT_EQ(document["facts"]["direction"], "noise");
    EXPECT_EQ(std::ssize(document["rows"]), cells);
}

TEST(SweepCommand, Figures) {
    const TempFolder folder;
    for (const char* name : {"s.svg", "s.pdf", "s.png"}) {
        done(headlight(with({"--site", "z_by_position", "--size-mm", "85", "--out", folder / name})));
        EXPECT_GT(test::slurp(folder / name).size(), 1000u);
    }
    EXPECT_THAT(test::slurp(folder / "s.svg"), testing::AllOf(HasSubstr("denoising"), HasSubstr("“·she” − “·he”")));
    const Outcome edges =
        done(headlight(with({"--site", "pattern_by_edge", "--layers", "0", "--heads", "0", "--out", folder / "edges.svg"})));
    EXPECT_THAT(test::slurp(folder / "edges.svg"), testing::AllOf(HasSubstr(">query<"), HasSubstr(">key<")));
    // Everything that the numbers depend on is in the command that the figure names.
    const Outcome some =
        done(headlight(with({"--layers", "0", "--heads", "0-3", "--dtype", "float64", "--out", folder / "some.svg"})));
    EXPECT_THAT(test::slurp(folder / "some.svg"), HasSubstr("--layers 0 --heads 0-3 --dtype float64"));
}

TEST(SweepCommand, NoiseIsInTheFile) {
    const TempFolder folder;
    const std::vector<std::string> words{"sweep",   "novella-7m", "--clean",  kClean, "--at",          "who=The queen",
                                         "--noise", "who",        "--answer", " she", "--metric",      "prob",
                                         "--site",  "resid_pre",  "--layers", "0",    "--noise-draws", "3"};
    const auto run = [&](const std::vector<std::string>& more) { return headlight(joined(words, more)); };
    const std::string npz = folder / "s.npz", svg = folder / "s.svg";
    done(run({"--out", npz}));
    const io::NpzContent content = io::read_npz(npz);
    EXPECT_EQ(content.arrays.at("noise").shape, (std::vector<std::int64_t>{3, 8, 256}));
    EXPECT_EQ(content.arrays.at("corrupt_metric").shape, (std::vector<std::int64_t>{3}));
    done(run({"--out", svg}));
    EXPECT_THAT(test::slurp(svg), testing::AllOf(HasSubstr("3 draws of noise"), HasSubstr("--noise who --noise-draws 3")));
    EXPECT_EQ(run({"--corrupt", kCorrupt}).code, 2) << "two corrupt texts";
    refused(headlight({"sweep", "novella-7m", "--clean", kClean, "--noise", "whom", "--metric", "kl"}), 1,
            HasSubstr("--at whom="));
}

TEST(SweepCommand, CrossAttentionHasTheSourcesTokens) {
    const TempFolder folder;
    const std::string t5 = test::fixture("encoder_decoders/t5");
    const auto run = [&](const char* site, const std::string& out) {
        return headlight({"sweep", t5, "--clean", "the nurse asked", "--target", "the", "--metric", "kl", "--attention", "cross",
                          "--ablate", "zero", "--site", site, "--out", out});
    };
    const std::string csv = folder / "s.csv", svg = folder / "s.svg", json = folder / "s.json";
    done(run("v_by_position", json));
    EXPECT_THAT(test::slurp(json), HasSubstr("\"target\":\"the\"")) << "what the decoder reads";
    done(run("v_by_position", csv));
    EXPECT_THAT(test::slurp(csv), HasSubstr("\"k\"")) << "a token of the source alone";
    done(run("pattern_by_destination", csv));
    EXPECT_THAT(test::slurp(csv), testing::Not(HasSubstr("\"k\"")));
    done(run("v_by_position", svg));
    EXPECT_THAT(test::slurp(svg), testing::AllOf(HasSubstr("cross attention"), HasSubstr("--attention cross"), HasSubstr(">k<")));
}

TEST(SweepCommand, MeansOverAFileAndExperts) {
    const TempFolder folder;
    const auto texts = folder.write("texts.txt", "The king saw the nurse\nThey went home\n");
    const auto ablate = [&](const std::vector<std::string>& more) {
        return headlight(joined({"sweep", "novella-7m", "--clean", kClean, "--answer", " she", "--wrong", " he"}, more));
    };
    EXPECT_NE(done(ablate({"--ablate", "mean", "--over", texts})).out, ablate({"--ablate", "mean"}).out);
    refused(ablate({"--ablate", "mean", "--over", texts, "--per-position"}), 1,
            testing::AllOf(HasSubstr("text 1"), HasSubstr("8 tokens")));
    EXPECT_EQ(ablate({"--ablate", "zero", "--over", texts}).code, 2);
    EXPECT_EQ(ablate({"--ablate", "mean", "--per-position"}).code, 2);
    const Outcome experts = done(headlight({"sweep", test::fixture("models/mixtral"), "--clean", "the nurse asked", "--metric",
                                            "kl", "--site", "expert", "--ablate", "force"}));
    EXPECT_THAT(experts.out, StartsWith("layer,expert,value,effect,normalized,state\n0,0,"));
}

TEST(SweepCommand, AnUnfinishedSweepGoesOn) {
    const TempFolder folder;
    std::string lines;
    for (const char* who : {"met the doctor", "saw the nurse", "left the house"})
        lines += std::string(R"({"clean": "The queen )") + who + R"( and then", "corrupt": "The king )" + who +
                 R"( and then", "answer": " she", "wrong": " he"})" + "\n";
    const std::string pairs = folder.write("pairs.jsonl", lines), out = folder / "s.csv", file = out + ".unfinished";
    const auto words = [&](const char* site, bool resume) {
        std::vector<std::string> all{"sweep", "novella-7m", "--pairs", pairs, "--site", site, "--draws", "200", "--out", out};
        if (resume) all.emplace_back("--resume");
        return all;
    };
    const char* site = "head_every_by_position";
    done(headlight(words(site, false)));
    EXPECT_FALSE(std::filesystem::exists(file)) << "a finished sweep leaves only its output";
    const std::string expected = test::slurp(out);
    // A process that is killed behind the first of several passes.
    const Outcome killed = test::in_child([&] {
        std::thread([&] {
            while (!std::filesystem::exists(file)) std::this_thread::yield();
            ::kill(::getpid(), SIGKILL);
        }).detach();
        const std::vector<std::string> all = words(site, false);
        const std::vector<char*> argv = test::argv_of(all);
        return cli::run(static_cast<int>(argv.size()) - 1, argv.data(), {});
    });
    ASSERT_EQ(killed.code, 128 + SIGKILL) << killed.err;
    refused(headlight(words(site, false)), 1, testing::AllOf(HasSubstr("s.csv.unfinished"), HasSubstr("--resume")));
    refused(headlight(words("z", true)), 1, testing::AllOf(HasSubstr("site: expected head_every_by_position, found z")));
    done(headlight(words(site, true)));
    EXPECT_EQ(test::slurp(out), expected);
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_EQ(headlight(with({"--resume"})).code, 2) << "without --out";
}

/// No option is dropped in silence: each changes what comes out, or is refused. A new one needs a line here.
TEST(SweepCommand, ASiteIsDividedByOneWordOrByTwo) {
    const auto sweep = [](std::vector<std::string> site) { return headlight(joined(with({"--layers", "4"}), site)); };
    for (const auto& [stem, by] : {std::pair("z", "position"), {"pattern", "destination"}})
        EXPECT_EQ(done(sweep({"--site", stem, "--by", by})).out, done(sweep({"--site", std::string(stem) + "_by_" + by})).out);
    refused(sweep({"--site", "z", "--by", "edge"}), 2, HasSubstr("the site z is divided by position"));
    refused(sweep({"--site", "mlp_out", "--by", "position"}), 2, HasSubstr("the site mlp_out is not divided further"));
}

TEST(SweepCommand, EveryOptionChangesTheResultOrIsRefused) {
    const TempFolder folder;
    const std::string texts = folder.write("texts.txt", "The king saw the nurse and then\nThey went home to her and so\n"),
                      pairs = folder.write("pairs.jsonl", R"({"clean": "The queen met her", "corrupt": "The king met her", )"
                                                          R"("answer": " she", "wrong": " he", "positions": {"who": [1]}})"
                                                          "\n"
                                                          R"({"clean": "The queen saw him", "corrupt": "The king saw him", )"
                                                          R"("answer": " she", "wrong": " he", "positions": {"who": [1]}})"
                                                          "\n");
    const std::vector<std::string> layer = {"--layers", "4"}, one = with(layer),
                                   ablation = {"sweep",   "novella-7m", "--clean",  kClean, "--answer", " she",
                                               "--wrong", " he",        "--layers", "4",    "--ablate"},
                                   resample = joined(ablation, {"resample", "--over", texts}), zero = joined(ablation, {"zero"}),
                                   mean = joined(ablation, {"mean", "--over", texts}),
                                   probability = {"sweep",    "novella-7m", "--clean",  kClean, "--answer", " she",
                                                  "--layers", "4",          "--ablate", "zero", "--metric", "prob"},
                                   noise = {"sweep",   "novella-7m", "--clean",       kClean, "--answer", " she",
                                            "--wrong", " he",        "--layers",      "4",    "--at",     "who=queen",
                                            "--noise", "who",        "--noise-draws", "2"},
                                   cumulated = joined(zero, {"--cumulative", "2"}),
                                   several = {"sweep", "novella-7m", "--pairs", pairs, "--site", "resid_pre", "--layers", "4"};
    const struct {
        std::string option;
        std::vector<std::string> values;  ///< without: a flag
        std::vector<std::vector<std::string>> commands;
    } rows[] = {{"clean", {"The woman met the doctor and then"}, {}},
                {"corrupt", {"The man met the doctor and then"}, {zero, noise, several}},
                {"image", {"a.png"}, {one}},
                {"corrupt-image", {"a.png"}, {one}},
                {"pairs", {pairs}, {one}},
                {"target", {"she"}, {one}},
                {"answer", {" it"}, {one, several}},
                {"wrong", {" it"}, {one, several, probability}},
                {"site", {"q"}, {one}},
                {"by", {"position"}, {joined(one, {"--site", "z"}), several}},
                {"metric", {"logprob"}, {zero, several}},
                {"position", {"3"}, {one, several}},
                {"at", {"who=queen"}, {one, several}},
                {"by-name", {}, {one, several}},
                {"direction", {"noise"}, {one, zero}},
                {"ablate", {"mean"}, {one, noise}},
                {"attention", {"cross"}, {one}},
                {"effect", {"direct"}, {one, joined(one, {"--to", "L5H0.q"})}},
                {"to", {"L5H0.q"}, {one}},
                {"method", {"attribution"}, {one}},
                {"window", {"2"}, {one}},
                {"layers", {"3"}, {with({})}},
                {"heads", {"2"}, {one, several}},
                {"noise", {"who"}, {one, several}},
                {"noise-scale", {"2"}, {one, noise}},
                {"noise-draws", {"3"}, {one, several}},
                {"over", {texts}, {one, zero, joined(ablation, {"mean"})}},
                {"per-position", {}, {one, mean, resample}},
                {"donors", {"1"}, {one, mean, resample}},
                {"draws", {"200"}, {one, zero, noise, several}},
                {"seed", {"7"}, {one, zero, noise, several}},
                {"cumulative", {"2"}, {one, zero}},
                {"order", {"L4H5,L4H2"}, {one, cumulated}},
                {"controls", {"3"}, {one, cumulated}},
                {"control-seed", {"5"}, {one, cumulated}},
                {"dtype", {"float64"}, {one}},
                {"forecast", {}, {one}}};
    // How it is computed, where it is written and how it looks.
    std::set<std::string> known = {"help",    "quiet",     "out",   "format",      "device",    "threads",
                                   "memory",  "resume",    "tower", "theme",       "width",     "height",
                                   "size-mm", "list-rows", "scale", "transparent", "no-footer", "version"};
    const std::string file = folder / "s.json";
    const auto result = [&](const std::vector<std::string>& arguments) {
        std::filesystem::remove(file);
        const Outcome outcome = headlight(joined(arguments, {"--out", file}));
        return std::pair{outcome.code, outcome.code == 0 && std::filesystem::exists(file) ? test::slurp(file) : std::string()};
    };
    std::map<std::vector<std::string>, std::string> plain;
    for (const auto& [option, values, commands] : rows) {
        known.insert(option);
        for (const std::vector<std::string>& command : commands) {
            if (!plain.contains(command)) {
                const auto [code, text] = result(command);
                ASSERT_EQ(code, 0) << testing::PrintToString(command);
                plain[command] = text;
            }
            SCOPED_TRACE(option + " in " + testing::PrintToString(command));
            const auto [code, text] = result(joined(joined(command, {"--" + option}), values));
            if (code == 0) {
                EXPECT_NE(text, plain[command]) << "dropped";
            }
        }
    }
    const std::string help = headlight({"sweep", "--help"}).out;
    for (std::size_t at = help.find("\n  --"); at != std::string::npos; at = help.find("\n  --", at + 1)) {
        const std::size_t begin = at + 5;
        const std::string name = help.substr(begin, help.find_first_of(" ,\n", begin) - begin);
        EXPECT_TRUE(known.contains(name)) << name;
    }
}

/// Typed without its space, an answer is another token; a note says so, and where the spaced one is likelier.
TEST(SweepCommand, SaysWhichTokenAnAnswerIs) {
    const auto sweep = [&](const std::string& answer, const std::string& wrong) {
        return headlight({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", answer, "--wrong", wrong,
                          "--layers", "4"});
    };
    const Outcome plain = done(sweep("a", " he"));
    EXPECT_THAT(plain.err, testing::AllOf(HasSubstr("--answer: \"a\" is taken as a ("), HasSubstr("with one it is ·a ("),
                                          HasSubstr("which is likelier here: ")));
    EXPECT_THAT(done(sweep(" she", " he")).err, testing::Not(HasSubstr("is taken as")));
    EXPECT_EQ(done(sweep("·she", " he")).out, sweep(" she", " he").out) << "as figures name it";
    refused(sweep(" she", " she"), 1, testing::AllOf(HasSubstr("same token"), HasSubstr("·she")));
    const TempFolder folder;
    const auto pairs = folder.write("pairs.jsonl", std::string(R"({"clean": ")") + kClean + R"(", "corrupt": ")" + kCorrupt +
                                                       R"(", "answer": "a", "wrong": " he"})");
    EXPECT_THAT(done(headlight({"sweep", "novella-7m", "--pairs", pairs, "--layers", "4"})).err,
                HasSubstr("In 1 of 1 pairs an answer is likelier with a leading space: ·a for a in pair 1"));
}

TEST(SweepCommand, ErrorsSayWhatIsWrong) {
    refused(headlight({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " Nebuchadnezzar", "--wrong",
                       " he"}),
            1, testing::AllOf(HasSubstr("more than one token"), HasSubstr("·Ne (4869), b (69)")));
    refused(headlight(with({"--position", "400"})), 1, HasSubstr("400"));
    refused(headlight({"sweep", "novella-7m", "--clean", kClean, "--answer", " she", "--wrong", " he"}), 2,
            HasSubstr("--corrupt"));
    EXPECT_EQ(headlight({"sweep", "novella-7m", "--pairs", "pairs.jsonl", "--at", "who=queen"}).code, 2);
    refused(headlight({"sweep", test::fixture("encoder_decoders/t5"), "--clean", "the nurse asked", "--ablate", "zero",
                       "--metric", "kl", "--position", "2"}),
            1, HasSubstr("--target"));
    const Outcome site = headlight(with({"--site", "zz"}));
    EXPECT_EQ(site.code, 2);
    const TempFolder folder;
    const auto pairs = folder.write("pairs.jsonl", "{\"clean\": \"The queen\", \"corrupt\": \"The king\", \"answer\": 7}\n");
    refused(headlight({"sweep", "novella-7m", "--pairs", pairs}), 1,
            testing::AllOf(HasSubstr("pairs.jsonl"), HasSubstr("line 1, answer")));
}

}  // namespace sweep_command_test
}  // namespace headlight
