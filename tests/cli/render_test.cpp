// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/hash.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace render_test {

using nlohmann::json;
using test::headlight;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kText = "The doctor asked the nurse because she was late.";

std::vector<std::string> render_call(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"render", "novella-7m", "--text", kText};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}
Outcome render(const std::vector<std::string>& more) { return headlight(render_call(more)); }

TEST(Render, DrawsEveryViewWithoutADisplay) {
    const TempFolder folder;
    for (const char* view : {"head", "matrix", "model", "neuron"}) {
        const auto file = folder / (std::string(view) + ".svg");
        const Outcome outcome = render({"--view", view, "--out", file});
        ASSERT_EQ(outcome.code, 0) << view << outcome.err;
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_EQ(outcome.err, "headlight: wrote " + file.string() + "\n");
        EXPECT_THAT(test::slurp(file), HasSubstr("<svg"));
    }
}

TEST(Render, WritesEveryFormat) {
    const TempFolder folder;
    const std::vector<std::pair<std::string, std::string>> formats{{"png", "\x89PNG"}, {"svg", "<?xml"},      {"pdf", "%PDF-"},
                                                                   {"csv", "# {"},     {"npz", "PK\x03\x04"}, {"json", "{"}};
    for (const auto& [extension, start] : formats) {
        const auto file = folder / ("f." + extension);
        const Outcome outcome = render({"--view", "matrix", "--layer", "4", "--head", "5", "--out", file, "--quiet"});
        ASSERT_EQ(outcome.code, 0) << extension << outcome.err;
        EXPECT_THAT(outcome.err, IsEmpty());
        EXPECT_THAT(test::slurp(file), StartsWith(start)) << extension;
    }
    EXPECT_EQ(folder.count(), formats.size());
}

// The line in the file's metadata makes the same file again, byte by byte.
TEST(Render, TheCommandInTheFileMakesTheSameFile) {
    const TempFolder folder;
    const auto first = folder / "first.json";
    ASSERT_EQ(test::program(render_call({"--view", "head", "--layer", "4", "--heads", "0-2,5", "--query", "7", "--hide-sinks",
                                         "--transfer", "gamma", "--gamma", "0.25", "--threshold", "0.01", "--out", first}))
                  .code,
              0);
    const json provenance = json::parse(test::slurp(first))["provenance"];
    const std::string command = provenance["command"];
    EXPECT_EQ(command, "headlight render novella-7m --text '" + kText +
                           "' --view head --layer 4 --heads 0-2,5 --query 7 --hide-sinks --transfer gamma --gamma 0.25 "
                           "--threshold 0.01 --out figure.json");
    const std::string shell = "cd '" + folder.path().string() + "' && headlight() { '" + HEADLIGHT_PROGRAM + "' \"$@\"; } && " +
                              command + " 2> /dev/null";
    ASSERT_EQ(std::system(shell.c_str()), 0);
    EXPECT_EQ(io::sha256_file(first), io::sha256_file(folder / "figure.json"));
}

TEST(Render, DataIsWhatTheModelComputed) {
    const TempFolder folder;
    ASSERT_EQ(render({"--view", "matrix", "--layer", "4", "--head", "5", "--out", folder / "m.json"}).code, 0);
    const json root = json::parse(test::slurp(folder / "m.json"));
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < root["columns"].size(); ++i) column[root["columns"][i]] = i;
    std::map<int, double> sums;
    for (const json& row : root["rows"]) {
        EXPECT_LE(row[column.at("key")], row[column.at("query")]);
        sums[row[column.at("query")]] += row[column.at("weight")].get<double>();
    }
    EXPECT_EQ(sums.size(), 11u);
    for (const auto& [query, sum] : sums) EXPECT_NEAR(sum, 1, 1e-4) << query;
}

// As in the window: the token that the text predicts next, not the one that a head attends from.
TEST(Render, ViewsOfAPredictionStartAtTheLastToken) {
    const TempFolder folder;
    for (const char* view : {"attribution", "drivers", "mlp", "importance"}) {
        const auto rows = [&](std::vector<std::string> query) {
            const std::string out = folder / (std::string(view) + ".json");
            std::vector<std::string> all{"--view", view, "--layer", "4", "--out", out};
            all.insert(all.end(), query.begin(), query.end());
            EXPECT_EQ(render(all).code, 0);
            return json::parse(test::slurp(out))["rows"];
        };
        EXPECT_EQ(rows({}), rows({"--query", "10"})) << view;
    }
}

TEST(Render, RefusesAndLeavesNothing) {
    const TempFolder folder;
    const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message, int code) {
        const Outcome outcome = render(arguments);
        EXPECT_EQ(outcome.code, code) << message;
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_THAT(outcome.err, HasSubstr(message));
    };
    const std::string out = folder / "f.png";
    refused({"--view", "heat", "--out", out}, "did you mean head?", 2);
    refused({"--view", "head"}, "--out is required", 2);
    refused({"--view", "head", "--heads", "1,x", "--out", out}, "--heads: \"x\" is not a number", 2);
    refused({"--view", "head", "--scale", "9", "--out", out}, "--scale", 2);
    refused({"--view", "head", "--out", folder / "f.jpg"}, ".jpg", 1);
    refused({"--view", "head", "--layer", "6", "--out", out}, "layer 6: expected 0 to 5", 1);
    refused({"--view", "matrix", "--layer", "0", "--head", "8", "--out", out}, "head 8: expected 0 to 7", 1);
    refused({"--view", "neuron", "--query", "11", "--out", out}, "query 11: expected 0 to 10", 1);
    refused({"--view", "head", "--filter", "a-b", "--out", out}, "A pair filter needs two sentences", 1);
    refused({"--view", "head", "--out", folder / "none/f.png"}, "No such file", 1);
    EXPECT_EQ(folder.count(), 0u);
}

TEST(Render, ABatchOfTextsIsDrawnAndTheCommandInTheFileMakesItAgain) {
    const TempFolder folder;
    const auto list = folder.write("texts.txt", "Rain fell all night.\n\nShe was late, and he was not.\r\n");
    for (const bool own : {true, false}) {
        std::vector<std::string> arguments{"render", "novella-7m",  "--texts", list,
                                           "--view", "clark-kinds", "--out",   folder / "batch.json"};
        if (own) arguments.insert(arguments.end(), {"--text", kText});
        ASSERT_EQ(test::program(arguments).code, 0);
        const json provenance = json::parse(test::slurp(folder / "batch.json"))["provenance"];
        EXPECT_THAT(provenance["text"].get<std::string>(), StartsWith(own ? "3 texts, " : "2 texts, "));
        const std::string command = provenance["command"];
        EXPECT_EQ(command.find("--text '") != std::string::npos, own) << command;
        const std::string shell = "cd '" + folder.path().string() + "' && headlight() { '" + HEADLIGHT_PROGRAM +
                                  "' \"$@\"; } && " + command + " 2> /dev/null";
        ASSERT_EQ(std::system(shell.c_str()), 0);
        EXPECT_EQ(io::sha256_file(folder / "batch.json"), io::sha256_file(folder / "figure.json"));
    }
    const Outcome outcome = render({"--texts", list, "--view", "head", "--out", folder / "f.png"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--texts: the view head shows one text"));
}

TEST(Render, RolloutGoesUpToTheLastLayer) {
    const TempFolder folder;
    const auto command_of = [&](const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"--view", "rollout", "--out", folder / "r.json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        EXPECT_EQ(render(arguments).code, 0);
        return json::parse(test::slurp(folder / "r.json"))["provenance"]["command"].get<std::string>();
    };
    EXPECT_THAT(command_of({}), HasSubstr("--layer 5"));
    EXPECT_THAT(command_of({"--layer", "2"}), HasSubstr("--layer 2"));
}

TEST(Render, OneTokenIsEnoughForEveryView) {
    const TempFolder folder;
    for (const char* view : {"head", "matrix", "model", "neuron"})
        EXPECT_EQ(headlight({"render", "novella-7m", "--text", "a", "--view", view, "--out", folder / "f.png"}).code, 0) << view;
}

}  // namespace render_test
}  // namespace headlight
