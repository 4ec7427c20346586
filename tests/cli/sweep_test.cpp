// SPDX-License-Identifier: GPL-3.0-or-later
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

using test::headlight;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;
using testing::StartsWith;

const char *kClean = "The queen met the doctor and then", *kCorrupt = "The king met the doctor and then";

std::vector<std::string> with(std::vector<std::string> more) {
    std::vector<std::string> words{"sweep",  "novella-7m", "--clean", kClean,    "--corrupt",
                                   kCorrupt, "--answer",   " she",    "--wrong", " he"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

TEST(SweepCommand, HeadsAsCsv) {
    const Outcome outcome = headlight(with({}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, StartsWith("layer,head,value,effect,normalized,state\n0,0,"));
    EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1 + 48);
    EXPECT_THAT(outcome.err, HasSubstr("48 cells (48 computed)"));
}

TEST(SweepCommand, AttributionAndItsError) {
    const TempFolder folder;
    const Outcome both = headlight(with({"--method", "both", "--site", "q"}));
    ASSERT_EQ(both.code, 0) << both.err;
    EXPECT_THAT(both.out, StartsWith("layer,head,value,effect,normalized,estimate,error,state\n0,0,"));
    const Outcome drawn = headlight(with({"--method", "both", "--site", "q", "--out", folder / "s.svg"}));
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_THAT(test::slurp(folder / "s.svg"), testing::AllOf(HasSubstr("error of attribution"), HasSubstr("--method both")));
    EXPECT_EQ(headlight(with({"--method", "attribution", "--metric", "rank"})).code, 1);
}

TEST(SweepCommand, APathThroughTheKeysOfAHead) {
    const TempFolder folder;
    const Outcome path = headlight(with({"--to", "L4H7.k"}));
    ASSERT_EQ(path.code, 0) << path.err;
    EXPECT_THAT(path.out, HasSubstr("\n4,0,"));
    const auto behind = path.out.find("\n4,0,");
    EXPECT_EQ(path.out.find("certain"), path.out.find("certain", behind)) << "heads of the layer itself are not on the way";
    EXPECT_NE(path.out.find("certain"), std::string::npos);
    const Outcome drawn = headlight(with({"--to", "L4H7.k", "--to", "L5H7.q", "--out", folder / "s.svg"}));
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_THAT(test::slurp(folder / "s.svg"),
                testing::AllOf(HasSubstr("through L4H7.k, L5H7.q"), HasSubstr("--to L4H7.k --to L5H7.q")));
    const Outcome refused = headlight(with({"--to", "L4.mlp"}));
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("L5H7.k"));
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
    const Outcome first = run(npz);
    ASSERT_EQ(first.code, 0) << first.err;
    const io::NpzContent content = io::read_npz(npz);
    const std::int64_t cells = content.arrays.at("effect").shape[0];
    EXPECT_EQ(content.arrays.at("effects").shape, (std::vector<std::int64_t>{2, cells}));
    for (const char* column : {"layer", "position", "stderr", "low", "high", "agreeing"})
        EXPECT_EQ(content.arrays.at(column).shape[0], cells) << column;
    ASSERT_EQ(run(json).code, 0);
    const nlohmann::json document = nlohmann::json::parse(test::slurp(json));
    EXPECT_EQ(document["facts"]["direction"], "noise");
    EXPECT_EQ(std::ssize(document["rows"]), cells);
}

TEST(SweepCommand, Figures) {
    const TempFolder folder;
    for (const char* name : {"s.svg", "s.pdf", "s.png"}) {
        const Outcome outcome = headlight(with({"--site", "z_by_position", "--size-mm", "85", "--out", folder / name}));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_GT(test::slurp(folder / name).size(), 1000u);
    }
    EXPECT_THAT(test::slurp(folder / "s.svg"), testing::AllOf(HasSubstr("denoising"), HasSubstr("“·she” − “·he”")));
    const Outcome edges =
        headlight(with({"--site", "pattern_by_edge", "--layers", "0", "--heads", "0", "--out", folder / "edges.svg"}));
    EXPECT_EQ(edges.code, 0) << edges.err;
    EXPECT_THAT(test::slurp(folder / "edges.svg"), testing::AllOf(HasSubstr(">query<"), HasSubstr(">key<")));
    // Everything that the numbers depend on is in the command that the figure names.
    const Outcome seeded =
        headlight(with({"--layers", "0", "--seed", "5", "--dtype", "float64", "--out", folder / "seeded.svg"}));
    EXPECT_EQ(seeded.code, 0) << seeded.err;
    EXPECT_THAT(test::slurp(folder / "seeded.svg"), HasSubstr("--layers 0 --seed 5 --dtype float64"));
}

TEST(SweepCommand, AnUnfinishedSweepGoesOn) {
    const TempFolder folder;
    const std::string out = folder / "s.csv", file = out + ".unfinished";
    const Outcome whole = headlight(with({"--site", "z_by_position", "--out", out}));
    ASSERT_EQ(whole.code, 0) << whole.err;
    EXPECT_FALSE(std::filesystem::exists(file)) << "a finished sweep leaves only its output";
    const std::string expected = test::slurp(out);
    // A process that is killed in the middle.
    const auto killed = test::in_child([&] {
        const pid_t self = ::getpid();
        std::thread([&] {
            while (!std::filesystem::exists(file) || std::filesystem::file_size(file) < 3000) std::this_thread::yield();
            ::kill(self, SIGKILL);
        }).detach();
        const std::vector<std::string> words = with({"--site", "z_by_position", "--out", out});
        const std::vector<char*> argv = test::argv_of(words);
        return cli::run(static_cast<int>(argv.size()) - 1, argv.data(), {});
    });
    ASSERT_EQ(killed.code, 128 + SIGKILL) << killed.err;
    const Outcome anew = headlight(with({"--site", "z_by_position", "--out", out}));
    EXPECT_EQ(anew.code, 1);
    EXPECT_THAT(anew.err, testing::AllOf(HasSubstr("s.csv.unfinished"), HasSubstr("--resume")));
    const Outcome other = headlight(with({"--site", "k_by_position", "--out", out, "--resume"}));
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.err, testing::AllOf(HasSubstr("z_by_position"), HasSubstr("k_by_position")));
    const Outcome resumed = headlight(with({"--site", "z_by_position", "--out", out, "--resume"}));
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("going on: "));
    EXPECT_EQ(test::slurp(out), expected);
    EXPECT_FALSE(std::filesystem::exists(file));
    EXPECT_EQ(headlight(with({"--resume"})).code, 2) << "without --out";
}

TEST(SweepCommand, ErrorsSayWhatIsWrong) {
    const Outcome split = headlight(
        {"sweep", "novella-7m", "--clean", kClean, "--corrupt", kCorrupt, "--answer", " Nebuchadnezzar", "--wrong", " he"});
    EXPECT_EQ(split.code, 1);
    EXPECT_THAT(split.err, testing::AllOf(HasSubstr("more than one token"), HasSubstr("\", \"")));
    const Outcome far = headlight(with({"--position", "400"}));
    EXPECT_EQ(far.code, 1);
    EXPECT_THAT(far.err, HasSubstr("400"));
    const Outcome none = headlight({"sweep", "novella-7m", "--clean", kClean, "--answer", " she", "--wrong", " he"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("--corrupt"));
    EXPECT_EQ(headlight({"sweep", "novella-7m", "--pairs", "pairs.jsonl", "--at", "who=queen"}).code, 2);
    const Outcome encoder = headlight({"sweep", std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/encoder_decoders/t5",
                                       "--clean", "the nurse asked", "--ablate", "zero", "--metric", "kl", "--position", "2"});
    EXPECT_EQ(encoder.code, 1);
    EXPECT_THAT(encoder.err, HasSubstr("--target"));
    const Outcome site = headlight(with({"--site", "zz"}));
    EXPECT_EQ(site.code, 2);
    const TempFolder folder;
    const auto pairs = folder.write("pairs.jsonl", "{\"clean\": \"The queen\", \"corrupt\": \"The king\", \"answer\": 7}\n");
    const Outcome field = headlight({"sweep", "novella-7m", "--pairs", pairs});
    EXPECT_EQ(field.code, 1);
    EXPECT_THAT(field.err, testing::AllOf(HasSubstr("pairs.jsonl"), HasSubstr("line 1, answer")));
}

}  // namespace sweep_command_test
}  // namespace headlight
