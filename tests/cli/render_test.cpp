// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/hash.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace render_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::program;
using test::refused;
using test::TempFolder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kText = "The doctor asked the nurse because she was late.";

std::vector<std::string> render_call(const std::vector<std::string>& more) {
    return joined({"render", "novella-7m", "--text", kText}, more);
}
Outcome render(const std::vector<std::string>& more) { return headlight(render_call(more)); }

/// The command of a figure's metadata, run by the shell, writes the same bytes.
void expect_made_again(const TempFolder& folder, const std::string& command, const std::filesystem::path& file) {
    const std::string shell = "cd '" + folder.path().string() + "' && headlight() { '" + HEADLIGHT_PROGRAM + "' \"$@\"; } && " +
                              command + " 2> /dev/null";
    ASSERT_EQ(std::system(shell.c_str()), 0);
    EXPECT_EQ(io::sha256_file(file), io::sha256_file(folder / "figure.json"));
}

TEST(Render, DrawsEveryViewWithoutADisplay) {
    const TempFolder folder;
    for (const char* view : {"head", "matrix", "model", "neuron"}) {
        const auto file = folder / (std::string(view) + ".svg");
        const Outcome outcome = done(render({"--view", view, "--out", file}));
        EXPECT_THAT(outcome.out, IsEmpty());
        EXPECT_EQ(outcome.err, "headlight: wrote " + file.string() + "\n");
        EXPECT_THAT(test::slurp(file), HasSubstr("<svg"));
    }
}

TEST(Render, WritesEveryFormat) {
    const TempFolder folder;
    const std::vector<std::pair<std::string, std::string>> formats{
        {"png", "\x89PNG"},    {"svg", "<?xml"}, {"pdf", "%PDF-"},           {"csv", "# {"},
        {"npz", "PK\x03\x04"}, {"json", "{"},    {"html", "<!DOCTYPE html>"}};
    for (const auto& [extension, start] : formats) {
        const auto file = folder / ("f." + extension);
        const Outcome outcome = done(render({"--view", "matrix", "--layer", "4", "--head", "5", "--out", file, "--quiet"}));
        EXPECT_THAT(outcome.err, IsEmpty());
        EXPECT_THAT(test::slurp(file), StartsWith(start)) << extension;
    }
    EXPECT_EQ(folder.count(), formats.size());
}

/// Every format, and a table where a command writes one: what a file would hold, and nothing left in the temporary folder.
TEST(Render, StandardOutputTakesWhatAFileWould) {
    const TempFolder folder, temporary;
    const auto streamed = [&](const std::vector<std::string>& words) {
        return headlight(words, "", {{"TMPDIR", temporary.path().string()}});
    };
    const auto left = [&] {  // Qt has a folder of its own there
        return std::ranges::count_if(std::filesystem::directory_iterator(temporary.path()), [](const auto& entry) {
            return entry.path().filename().string().starts_with("headlight-");
        });
    };
    for (const std::string format : {"svg", "png", "pdf", "html", "csv", "json", "npz"}) {
        const std::string file = (folder / ("figure." + format)).string();
        done(render({"--view", "lens", "--out", file}));
        const Outcome outcome = done(streamed(render_call({"--view", "lens", "--out", "-", "--format", format})));
        EXPECT_TRUE(outcome.out == test::slurp(file)) << format;
        EXPECT_THAT(outcome.err, Not(HasSubstr("wrote"))) << format;
        EXPECT_EQ(left(), 0) << format;
    }
    EXPECT_THAT(done(streamed({"lens", "novella-7m", "--text", kText, "--out", "-", "--format", "svg"})).out,
                StartsWith("<?xml"));
    EXPECT_THAT(done(streamed({"lens", "novella-7m", "--text", kText, "--out", "-", "--format", "json"})).out, StartsWith("{"));
    refused(streamed(render_call({"--view", "lens", "--out", "-"})), 2, HasSubstr("--out -: standard output has no ending"));
    refused(streamed(render_call({"--view", "lens", "--out", (folder / "x.svg").string(), "--format", "png"})), 2,
            HasSubstr("--format: it is for --out -"));
    EXPECT_EQ(
        refused(streamed({"render", "no/such/model", "--text", kText, "--view", "lens", "--out", "-", "--format", "svg"}), 1).out,
        "");
    EXPECT_EQ(left(), 0) << "after failures too";
}

// The line in the file's metadata makes the same file again, byte by byte.
TEST(Render, TheCommandInTheFileMakesTheSameFile) {
    const TempFolder folder;
    const auto first = folder / "first.json";
    done(test::program(render_call({"--view", "head", "--layer", "4", "--heads", "0-2,5", "--query", "7", "--hide-sinks",
                                    "--transfer", "gamma", "--gamma", "0.25", "--threshold", "0.01", "--out", first})));
    const json provenance = json::parse(test::slurp(first))["provenance"];
    const std::string command = provenance["command"];
    EXPECT_EQ(command, "headlight render novella-7m --text '" + kText +
                           "' --view head --layer 4 --heads 0-2,5 --query 7 --hide-sinks --transfer gamma --gamma 0.25 "
                           "--threshold 0.01 --out figure.json");
    expect_made_again(folder, command, first);
}

TEST(Render, DataIsWhatTheModelComputed) {
    const TempFolder folder;
    done(render({"--view", "matrix", "--layer", "4", "--head", "5", "--out", folder / "m.json"}));
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
        const auto rows = [&](const std::vector<std::string>& query) {
            const std::string out = folder / (std::string(view) + ".json");
            done(render(joined({"--view", view, "--layer", "4", "--out", out}, query)));
            return json::parse(test::slurp(out))["rows"];
        };
        EXPECT_EQ(rows({}), rows({"--query", "10"})) << view;
    }
}

/// What weights are shown is a choice of views of weights: another view would draw the same with it.
TEST(Render, OptionsOfPatternsAreForViewsOfPatterns) {
    const TempFolder folder;
    for (const std::vector<std::string>& option :
         {std::vector<std::string>{"--weighting", "value-norm"}, {"--hide-sinks"}, {"--hide-special"}, {"--words"}})
        refused(render(joined({"--view", "lens", "--out", folder / "f.png"}, option)), 2,
                HasSubstr(option.front() + " is not an option of the view lens"));
}

/// A token typed without its space is another one.
TEST(Render, SaysWhichTokenATextIs) {
    const TempFolder folder;
    const Outcome outcome = done(render({"--view", "attribution", "--layer", "4", "--token", "a", "--out", folder / "f.json"}));
    EXPECT_THAT(outcome.err, HasSubstr("--token: \"a\" is taken as a ("));
    EXPECT_THAT(outcome.err, HasSubstr("with one it is ·a ("));
}

TEST(Render, RefusesAndLeavesNothing) {
    const TempFolder folder;
    const auto fails = [&](const std::vector<std::string>& arguments, const std::string& message, int code) {
        EXPECT_THAT(refused(render(arguments), code, HasSubstr(message)).out, IsEmpty());
    };
    const std::string out = folder / "f.png";
    fails({"--view", "heat", "--out", out}, "did you mean head?", 2);
    fails({"--view", "head"}, "--out is required", 2);
    fails({"--view", "head", "--heads", "1,x", "--out", out}, "--heads: \"x\" is not a number", 2);
    fails({"--view", "head", "--scale", "9", "--out", out}, "--scale", 2);
    for (const char* table : {"f.csv", "f.npz", "f.json"})
        for (const std::vector<std::string>& option :
             std::vector<std::vector<std::string>>{{"--size-mm", "85"}, {"--theme", "dark"}, {"--width", "500"}, {"--no-footer"}})
            fails(test::joined({"--view", "head", "--out", folder / table}, option), option.front(), 2);
    fails({"--view", "head", "--out", folder / "f.jpg"}, ".jpg", 1);
    fails({"--view", "head", "--layer", "6", "--out", out}, "layer 6: expected 0 to 5", 1);
    fails({"--view", "matrix", "--layer", "0", "--head", "8", "--out", out}, "head 8: expected 0 to 7", 1);
    fails({"--view", "neuron", "--query", "11", "--out", out}, "query 11: expected 0 to 10", 1);
    fails({"--view", "head", "--filter", "a-b", "--out", out}, "A pair filter needs two sentences", 1);
    fails({"--view", "head", "--out", folder / "none/f.png"}, "No such file", 1);
    EXPECT_EQ(folder.count(), 0u);
}

TEST(Render, ABatchOfTextsIsDrawnAndTheCommandInTheFileMakesItAgain) {
    const TempFolder folder;
    const auto list = folder.write("texts.txt", "Rain fell all night.\n\nShe was late, and he was not.\r\n");
    for (const bool own : {true, false}) {
        std::vector<std::string> arguments{"render", "novella-7m",  "--texts", list,
                                           "--view", "clark-kinds", "--out",   folder / "batch.json"};
        if (own) arguments.insert(arguments.end(), {"--text", kText});
        done(test::program(arguments));
        const json provenance = json::parse(test::slurp(folder / "batch.json"))["provenance"];
        EXPECT_THAT(provenance["text"].get<std::string>(), StartsWith(own ? "3 texts, " : "2 texts, "));
        const std::string command = provenance["command"];
        EXPECT_EQ(command.find("--text '") != std::string::npos, own) << command;
        expect_made_again(folder, command, folder / "batch.json");
    }
    refused(render({"--texts", list, "--view", "head", "--out", folder / "f.png"}), 2,
            HasSubstr("--texts: the view head shows one text"));
}

TEST(Render, RolloutGoesUpToTheLastLayer) {
    const TempFolder folder;
    const auto command_of = [&](const std::vector<std::string>& more) {
        done(render(joined({"--view", "rollout", "--out", folder / "r.json"}, more)));
        return json::parse(test::slurp(folder / "r.json"))["provenance"]["command"].get<std::string>();
    };
    EXPECT_THAT(command_of({}), HasSubstr("--layer 5"));
    EXPECT_THAT(command_of({"--layer", "2"}), HasSubstr("--layer 2"));
}

TEST(Render, TheLensHasALayerOnlyWhereATokenIsOpened) {
    const TempFolder folder;
    const auto file_of = [&](const std::vector<std::string>& more) {
        done(render(joined({"--view", "lens", "--out", folder / "l.json"}, more)));
        return test::slurp(folder / "l.json");
    };
    EXPECT_THAT(file_of({}), Not(HasSubstr("--layer")));
    EXPECT_EQ(file_of({"--layer", "1"}), file_of({"--layer", "4"}));
    EXPECT_THAT(file_of({"--query", "2", "--layer", "1"}), HasSubstr("--layer 1"));
    refused(render({"--view", "lens", "--layer", "6", "--out", folder / "l.json"}), 1, HasSubstr("layer 6"));
}

TEST(Render, OneTokenIsEnoughForEveryView) {
    const TempFolder folder;
    for (const char* view : {"head", "matrix", "model", "neuron"})
        EXPECT_EQ(headlight({"render", "novella-7m", "--text", "a", "--view", view, "--out", folder / "f.png"}).code, 0) << view;
}

TEST(Render, NamesTheViewsThatAreMeantForLongTexts) {
    const TempFolder folder;
    std::string text;
    for (int i = 0; i < 600; ++i) text += "the ";
    const auto notes = [&](const std::string& view, const std::string& typed) {
        return done(headlight({"render", "novella-7m", "--text", typed, "--view", view, "--out", folder / "f.svg"})).err;
    };
    EXPECT_THAT(notes("head", text), HasSubstr("matrix and model are the views for texts of this length"));
    EXPECT_THAT(notes("head", "the nurse"), Not(HasSubstr("texts of this length")));
    EXPECT_THAT(notes("matrix", text), Not(HasSubstr("texts of this length")));
}

TEST(Render, APdfOfManyFontsHasTheSameBytesEachTime) {
    const TempFolder folder;
    std::vector<std::string> hashes;
    for (int i = 0; i < 3; ++i) {
        done(program({"render", "novella-7m", "--text", "день שלום سلام नमस्ते ★", "--view", "head", "--out", folder / "f.pdf"}));
        hashes.push_back(io::sha256_file(folder / "f.pdf"));
    }
    EXPECT_THAT(hashes, testing::Each(hashes.front()));
}

TEST(Render, BytesOfAFigureDoNotDependOnInstalledFonts) {
    const TempFolder folder;
    const std::string none = folder.write("fonts.conf", "<?xml version='1.0'?><fontconfig><dir>/nowhere</dir></fontconfig>");
    const std::string text = "Été ὁ день שלום سلام नमस्ते -> nurse";
    for (const std::string format : {"svg", "png"}) {
        const std::string with = folder / ("with." + format), without = folder / ("without." + format);
        done(headlight({"render", "novella-7m", "--text", text, "--view", "head", "--out", with}));
        done(headlight({"render", "novella-7m", "--text", text, "--view", "head", "--out", without}, "",
                       {{"FONTCONFIG_FILE", none}}));
        EXPECT_EQ(io::sha256_file(with), io::sha256_file(without)) << format;
    }
}

}  // namespace render_test
}  // namespace headlight
