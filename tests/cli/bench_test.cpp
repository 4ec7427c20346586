// SPDX-License-Identifier: GPL-3.0-or-later
// What `headlight bench` prints, on the smallest runs; how fast it is here is nobody's test.
#include "headlight/trace/benchmark.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace headlight {
namespace bench_test {

using nlohmann::json;
using test::headlight;
using test::in_process;
using test::Outcome;
using testing::HasSubstr;

json small_run(const std::vector<std::string>& names) {
    std::vector<std::string> arguments{"bench"};
    arguments.insert(arguments.end(), names.begin(), names.end());
    for (const char* more : {"--model", "novella-7m", "--tokens", "4", "--repeats", "1", "--threads", "1", "--json"})
        arguments.emplace_back(more);
    const Outcome outcome = headlight(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
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

TEST(Bench, LinesAreForPeople) {
    const Outcome outcome = headlight({"bench", "memory", "--model", "novella-7m", "--tokens", "4", "--repeats", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("memory"));
    EXPECT_THAT(outcome.err, HasSubstr("LibTorch"));
    EXPECT_FALSE(json::accept(outcome.out));
}

TEST(Bench, NamesAreKnownAndMisspellingIsAnswered) {
    const Outcome help = in_process({"bench", "--help"});
    EXPECT_EQ(help.code, 0);
    std::vector<std::string> names = trace::benchmark_names();
    names.insert(names.end(), {"tokenizer", "ui"});
    for (const std::string& name : names) EXPECT_THAT(help.out, HasSubstr(name));
    const Outcome wrong = in_process({"bench", "foward"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("did you mean forward?"));
}

TEST(Bench, LengthsAndRoundsAreChecked) {
    for (const std::vector<std::string>& wrong :
         {std::vector<std::string>{"--tokens", "0"}, {"--tokens", "four"}, {"--repeats", "0"}, {"--threads", "-1"}}) {
        std::vector<std::string> arguments{"bench", "tokenizer"};
        arguments.insert(arguments.end(), wrong.begin(), wrong.end());
        const Outcome outcome = in_process(arguments);
        EXPECT_EQ(outcome.code, 2) << wrong[0] << " " << wrong[1] << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(wrong[0]));
    }
}

}  // namespace bench_test
}  // namespace headlight
