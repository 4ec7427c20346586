// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/request_fields.h"
#include "headlight/io/npz.h"
#include "tests/cli/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
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
    EXPECT_EQ(headlight(with({"--method", "attribution", "--metric", "rank"})).code, 1);
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
    const nlohmann::json document = nlohmann::json::parse(test::slurp(json));
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
    const Outcome seeded =
        done(headlight(with({"--layers", "0", "--seed", "5", "--dtype", "float64", "--out", folder / "seeded.svg"})));
    EXPECT_THAT(test::slurp(folder / "seeded.svg"), HasSubstr("--layers 0 --seed 5 --dtype float64"));
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

/// The table of fields, which the window's page, its sessions and its commands have, has the names of the options.
TEST(SweepCommand, HasAnOptionForEveryFieldOfARequest) {
    const Outcome help = headlight({"sweep", "--help"});
    for (const intervention::FieldWords& field : intervention::field_words({}))
        EXPECT_THAT(help.out, HasSubstr("  --" + field.name + " ")) << field.name;
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
    EXPECT_EQ(ablate({"--ablate", "zero", "--over", texts}).code, 1);
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

TEST(SweepCommand, ErrorsSayWhatIsWrong) {
    refused(headlight({"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " Nebuchadnezzar", "--wrong",
                       " he"}),
            1, testing::AllOf(HasSubstr("more than one token"), HasSubstr("\", \"")));
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
