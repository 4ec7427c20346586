// SPDX-License-Identifier: GPL-3.0-or-later
// What headlight_bench prints on the smallest runs, called as `headlight bench`; no test asserts the speed.
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace headlight {
namespace bench_test {

using nlohmann::json;
using test::done;
using test::joined;
using test::Outcome;
using test::program;
using test::refused;
using testing::HasSubstr;

json small_run(const std::vector<std::string>& names) {
    const std::vector<std::string> small{"--model", "novella-7m", "--tokens", "4", "--repeats", "1", "--threads", "1", "--json"};
    return json::parse(done(program(joined(joined({"bench"}, names), small))).out, nullptr, false);
}

TEST(Bench, JsonHasTheMachineAndOneRowANumber) {
    const json found = small_run({"forward", "load"});
    ASSERT_TRUE(found.is_object());
    for (const char* key : {"version", "model", "processor", "libtorch", "blas"}) {
        ASSERT_TRUE(found.contains(key)) << key;
        EXPECT_TRUE(found[key].is_string()) << key;
        EXPECT_FALSE(found[key].get<std::string>().empty()) << key;
    }
    EXPECT_EQ(found.at("threads"), 1);
    EXPECT_GE(found.at("cores").get<int>(), 1);
    EXPECT_GT(found.at("memory_gb").get<double>(), 0);
    EXPECT_TRUE(found.at("cuda").is_boolean() || found.at("cuda").is_string());
    ASSERT_FALSE(found.at("results").empty());
    std::set<std::string> names;
    for (const json& row : found.at("results")) {
        ASSERT_EQ(row.size(), 5u) << row;
        names.insert(row.at("benchmark").get<std::string>());
        EXPECT_FALSE(row.at("what").get<std::string>().empty()) << row;
        EXPECT_TRUE(row.at("unit").is_string()) << row;
        ASSERT_TRUE(row.at("value").is_number()) << row;
        EXPECT_TRUE(std::isfinite(row.at("value").get<double>())) << row;
        const auto tokens = row.at("tokens").get<std::int64_t>();
        EXPECT_TRUE(tokens == 0 || tokens == 4) << row;
    }
    EXPECT_EQ(names, (std::set<std::string>{"forward", "load"})) << "what was named, and nothing else";
}

/// 6 layers of width 256: q, k, v and o, the attention, the MLP; and the unembedding.
TEST(Bench, CountsTheFlopsOfADensePass) {
    std::map<std::string, double> of;
    const json found = small_run({"forward"});
    for (const json& row : found.at("results"))
        of[row.at("what").get<std::string>() + row.at("unit").get<std::string>()] = row.at("value");
    const json config = json::parse(test::slurp(test::built_in_model() + "/config.json"));
    const double t = 4, d = config.at("hidden_size"), vocabulary = config.at("vocab_size"), layers = config.at("n_layer");
    const double flops = layers * (24 * t * d * d + 4 * t * t * d) + 2 * t * d * vocabulary;
    EXPECT_NEAR(of.at("traced passGFLOP/s") * of.at("traced passms") * 1e6 / flops, 1, 1e-9);
}

TEST(Bench, LinesAreForPeople) {
    const Outcome outcome = done(program({"bench", "memory", "--model", "novella-7m", "--tokens", "4", "--repeats", "1"}));
    EXPECT_THAT(outcome.out, HasSubstr("memory"));
    EXPECT_THAT(outcome.err, HasSubstr("LibTorch"));
    EXPECT_FALSE(json::accept(outcome.out));
}

TEST(Bench, NamesAreKnownAndAMisspeltOneIsAnswered) {
    const Outcome help = done(program({"bench", "--help"}));
    for (const char* name : {"forward", "memory", "load", "long", "corpus", "map", "window"})
        EXPECT_THAT(help.out, HasSubstr(name));
    refused(program({"bench", "foward"}), 2, HasSubstr("did you mean forward?"));
}

TEST(Bench, LengthsAndRoundsAreChecked) {
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--tokens", "0"}, {"--tokens", "four"}, {"--repeats", "0"}, {"--threads", "-1"}}) {
        refused(program({"bench", "memory", wrong[0], wrong[1]}), 2, HasSubstr(wrong[0]));
    }
}

TEST(Bench, AProgramThatStandsAloneSaysHowToBuildTheBenchmarks) {
    const test::TempFolder folder;
    std::filesystem::copy_file(HEADLIGHT_PROGRAM, folder / "headlight");
    const std::string out = folder.write("err", "");
    EXPECT_NE(std::system(((folder / "headlight").string() + " bench 2> " + out).c_str()), 0);
    EXPECT_THAT(test::slurp(out), HasSubstr("headlight_bench"));
}

}  // namespace bench_test
}  // namespace headlight
