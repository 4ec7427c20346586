// SPDX-License-Identifier: GPL-3.0-or-later
// Classifiers on the command line: which head a model has, its class logits, and classes by name. Models without a softmax:
// what works, and what is refused.
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace headlight {
namespace class_heads_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

const std::string kTests = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/";
const char* kText = "the cat, the hat: the cat";

std::string classifier(const std::string& name) { return kTests + "fixtures/class_heads/" + name; }

TEST(ClassHeadCommands, InfoSaysWhichHeadAModelHas) {
    const auto head = [](const std::string& folder) {
        return json::parse(done(headlight({"info", folder, "--json"})).out).at("head").get<std::string>();
    };
    EXPECT_EQ(head(classifier("bert")), "sequence classifier");
    EXPECT_EQ(head(classifier("bert-token")), "token classifier");
    EXPECT_EQ(head(classifier("bert-answer")), "question answering");
    EXPECT_EQ(head(classifier("bert-choice")), "multiple choice");
    EXPECT_EQ(head(classifier("dinov2-picture")), "image classifier");
    EXPECT_EQ(head(classifier("t5-token")), "token classifier");
    EXPECT_EQ(head("novella-7m"), "language model");
    EXPECT_EQ(head(kTests + "fixtures/models/bert-mlm"), "masked language model");
    EXPECT_EQ(head(kTests + "fixtures/models/bert"), "none");
    EXPECT_EQ(head(kTests + "fixtures/models/vit"), "image classifier");
    EXPECT_EQ(json::parse(headlight({"info", classifier("bert"), "--json"}).out).at("classes"),
              (json{"NEGATIVE", "neutral", "POSITIVE"}));
    EXPECT_THAT(headlight({"info", classifier("gpt2")}).out,
                HasSubstr("sequence classifier of 3 classes (NEGATIVE, neutral, POSITIVE), read at the last token"));
}

TEST(ClassHeadCommands, TheTraceHasTheClassLogits) {
    for (const char* asked : {"logits", "class_logits"}) {
        const TempFolder folder;
        done(headlight({"trace", classifier("bert"), "--text", kText, "--capture", asked, "--out", folder / "t.safetensors"}));
        const io::TensorStore store = io::TensorStore::open_file(folder / "t.safetensors");
        ASSERT_TRUE(store.find("class_logits"));
        EXPECT_EQ(store.find("class_logits")->shape[1], 3);
        EXPECT_FALSE(store.find("logits"));
    }
}

TEST(ClassHeadCommands, ClassesHaveTheirNames) {
    const std::string bert = classifier("bert");
    EXPECT_THAT(done(headlight({"analyze", "predictions", bert, "--text", kText})).out, HasSubstr(R"(,"POSITIVE",)"));
    EXPECT_THAT(done(headlight({"analyze", "lens", bert, "--text", kText, "--watch", "neutral"})).out,
                HasSubstr(R"(,"neutral",)"));
    const std::vector<std::string> attribution = {"analyze", "attribution", bert, "--text", kText, "--token"};
    EXPECT_THAT(done(headlight(joined(attribution, {"positive", "--minus", "0"}))).out, HasSubstr(R"("nonlinear",)"));
    const Outcome wrong = headlight(joined(attribution, {"POSITVE"}));
    EXPECT_EQ(wrong.code, 1);
    EXPECT_THAT(wrong.err, testing::AllOf(HasSubstr("NEGATIVE, neutral, POSITIVE"), HasSubstr("Did you mean \"POSITIVE\"?")));
    done(headlight({"analyze", "importance", bert, "--text", kText, "--target", "NEGATIVE"}));
    const std::vector<std::string> of_tokens = {"analyze",  "importance", classifier("bert-token"), "--text", kText,
                                                "--target", "O"};
    EXPECT_NE(done(headlight(of_tokens)).out, done(headlight(joined(of_tokens, {"--position", "1"}))).out) << "of the last token";
    const std::vector<std::string> sweep = {"sweep",    bert,       "--clean", kText,     "--answer",
                                            "POSITIVE", "--ablate", "zero",    "--metric"};
    done(headlight(joined(sweep, {"logit-diff", "--wrong", "NEGATIVE"})));
    for (const char* metric : {"logprob", "prob", "rank"}) done(headlight(joined(sweep, {metric})));
    done(headlight({"sweep", bert, "--clean", kText, "--ablate", "zero", "--metric", "kl"}));
    done(headlight({"sweep", classifier("gpt2"), "--clean", kText, "--corrupt", "the hat, the hat: the cat", "--answer",
                    "POSITIVE", "--wrong", "neutral"}));
}

TEST(ClassHeadCommands, EveryKindHasItsPredictions) {
    EXPECT_THAT(done(headlight({"analyze", "predictions", classifier("bert-token"), "--text", kText, "--top", "1"})).out,
                testing::ContainsRegex("PER|\"O\""));
    EXPECT_THAT(done(headlight({"analyze", "predictions", classifier("bert-answer"), "--text", kText, "--top", "2"})).out,
                testing::AllOf(HasSubstr(R"(,"start",)"), HasSubstr(R"(,"end",)")));
    EXPECT_THAT(done(headlight({"analyze", "predictions", classifier("bart"), "--text", kText})).out,
                HasSubstr(R"(,"NEGATIVE",)"));
    for (const char* name : {"bert", "bert-token", "bert-answer", "gpt2"}) {
        const TempFolder folder;
        done(headlight({"render", classifier(name), "--text", kText, "--view", "predictions", "--out", folder / "p.svg"}));
        EXPECT_THAT(test::slurp(folder / "p.svg"), HasSubstr("probability")) << name;
    }
}

/// Heads that read several rows of a picture, that of the source's </s>, or one score of a choice.
TEST(ClassHeadCommands, HeadsOfSeveralRowsWork) {
    const TempFolder folder;
    for (const char* name : {"clip-picture", "siglip-picture", "dinov2-picture"}) {
        const std::vector<std::string> model = {classifier(name), "--image", kTests + "fixtures/pictures/scene.png"};
        done(headlight(joined(joined({"render"}, model), {"--view", "predictions", "--out", folder / "p.csv"})));
        EXPECT_THAT(test::slurp(folder / "p.csv"), HasSubstr("POSITIVE")) << name;
        done(headlight(joined(joined({"analyze", "lens"}, model), {"--watch", "neutral"})));
        done(headlight(joined(joined({"analyze", "attribution"}, model), {"--token", "POSITIVE", "--minus", "NEGATIVE"})));
        done(headlight(joined(joined({"trace"}, model), {"--capture", "logits", "--out", folder / "t.safetensors"})));
        const io::TensorStore store = io::TensorStore::open_file(folder / "t.safetensors");
        ASSERT_TRUE(store.find("class_logits")) << name;
        EXPECT_EQ(store.find("class_logits")->shape[1], 3) << name;
        const Outcome elsewhere =
            headlight(joined(joined({"analyze", "attribution"}, model), {"--token", "POSITIVE", "--position", "2"}));
        EXPECT_THAT(elsewhere.err, HasSubstr("the mean of the patches")) << name;
    }
    const std::vector<std::string> mbart = {"sweep",    classifier("mbart"), "--clean",  kText,      "--answer",
                                            "POSITIVE", "--wrong",           "NEGATIVE", "--ablate", "zero"};
    done(headlight(mbart));
    done(headlight({"analyze", "importance", classifier("mbart"), "--text", kText, "--target", "POSITIVE"}));
    EXPECT_THAT(
        done(headlight({"analyze", "predictions", classifier("bert-choice"), "--text", "the cat", "--pair", "the hat"})).out,
        HasSubstr(R"("choice")"));
    done(headlight(
        {"sweep", classifier("bert-choice"), "--clean", kText, "--answer", "choice", "--ablate", "zero", "--metric", "logprob"}));
}

/// Start and end are compared over the tokens.
TEST(ClassHeadCommands, AnAnswerHasALensAndImportance) {
    const std::string model = classifier("bert-answer");
    EXPECT_THAT(done(headlight({"analyze", "lens", model, "--text", kText, "--watch", "end"})).out, HasSubstr(R"(,"end",)"));
    const std::vector<std::string> importance = {"analyze", "importance", model, "--text", kText, "--position", "2", "--target"};
    EXPECT_NE(done(headlight(joined(importance, {"start"}))).out, done(headlight(joined(importance, {"end"}))).out);
    for (const char* view : {"lens", "importance"}) {
        const TempFolder folder;
        done(headlight({"render", model, "--text", kText, "--view", view, "--out", folder / "v.svg"}));
        EXPECT_THAT(test::slurp(folder / "v.svg"), HasSubstr("start")) << view;
    }
}

/// Another row than the head's is no output of the model.
TEST(ClassHeadCommands, AnotherPositionThanTheHeadsIsRefused) {
    const auto refused = [](const std::vector<std::string>& command, const std::string& expected) {
        const Outcome outcome = headlight(command);
        EXPECT_EQ(outcome.code, 1) << testing::PrintToString(command);
        EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("does not read this position"), HasSubstr("--position"),
                                                HasSubstr("expected " + expected)))
            << testing::PrintToString(command);
    };
    for (const auto& [name, read, other] :
         std::vector<std::tuple<std::string, std::string, std::string>>{{"bert", "0", "2"}, {"gpt2", "8", "2"}}) {
        const std::string folder = classifier(name);
        for (const auto& command : std::vector<std::vector<std::string>>{
                 {"analyze", "attribution", folder, "--text", kText, "--token", "POSITIVE"},
                 {"analyze", "importance", folder, "--text", kText},
                 {"analyze", "edits", folder, "--text", kText, "--edit", "zero L0H0"},
                 {"sweep", folder, "--clean", kText, "--answer", "POSITIVE", "--ablate", "zero", "--metric", "prob"}}) {
            refused(joined(command, {"--position", other}), read);
            done(headlight(joined(command, {"--position", read})));
        }
        for (const char* view : {"lens", "attribution", "importance", "predictions"}) {
            const TempFolder out;
            const std::vector<std::string> render = {"render", folder, "--text", kText, "--view", view, "--position"};
            const auto table = [&](const std::string& position, const std::string& file) {
                const Outcome drawn = done(headlight(joined(render, {position, "--out", out / file})));
                EXPECT_EQ(drawn.err.find("is a mark only") != std::string::npos, position == other) << view << drawn.err;
                const std::string csv = test::slurp(out / file);
                return csv.substr(csv.find('\n'));  // behind the facts, which name the mark
            };
            EXPECT_EQ(table(other, "a.csv"), table(read, "b.csv")) << view;
        }
    }
    refused({"analyze", "importance", classifier("modernbert-mean"), "--text", kText, "--position", "0"},
            "none: it is read from the mean");
    done(headlight({"analyze", "importance", classifier("modernbert-mean"), "--text", kText}));
}

/// Of a tied family too: no text is made from an embedding that is no unembedding.
TEST(ClassHeadCommands, AClassifierIsNoLanguageModel) {
    const Outcome outcome = headlight({"generate", classifier("gpt2"), "--text", kText});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("classifies texts"), HasSubstr("sequence classifier")));
    const TempFolder folder;
    std::filesystem::copy(classifier("gpt2"), folder.path(), std::filesystem::copy_options::recursive);
    json config = json::parse(std::ifstream(folder.path() / "config.json"));
    config["architectures"] = {"GptForRegression"};
    std::ofstream(folder.path() / "config.json") << config;
    EXPECT_THAT(headlight({"generate", folder.path().string(), "--text", kText}).err, HasSubstr("score.weight"));
    EXPECT_THAT(headlight({"analyze", "lens", folder.path().string(), "--text", kText}).err, HasSubstr("no language model"));
    EXPECT_THAT(headlight({"info", folder.path().string()}).out, HasSubstr("score.weight"));
}

}  // namespace class_heads_test
namespace state_updates_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

const std::string kFolder = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/fixtures/state_updates/mamba2";
const char* kText = "the cat, the hat: the cat";

TEST(StateUpdateCommands, InfoNamesTheMixersAndHooks) {
    const json config = json::parse(done(headlight({"info", kFolder, "--json"})).out).at("config");
    EXPECT_EQ(config.at("mixers"), json::array({"state_space", "state_space"}));
    EXPECT_EQ(config.at("state_space").at("groups"), 2);
    const Outcome outcome = headlight({"trace", kFolder, "--text", kText, "--capture", "*hook_pattern", "--out", "t.npz"});
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("blocks.*.attn.hook_implied"));
}

TEST(StateUpdateCommands, LensPredictionsAndGenerationWork) {
    const TempFolder folder;
    for (const char* analysis : {"lens", "predictions"})
        done(headlight({"analyze", analysis, kFolder, "--text", kText, "--out", (folder.path() / "out.csv").string()}));
    done(headlight({"generate", kFolder, "--text", kText, "--tokens", "3"}));
    done(headlight({"render", kFolder, "--text", kText, "--view", "head", "--edit", "zero L0H1", "--out",
                    (folder.path() / "head.png").string()}));
    done(headlight(
        {"trace", kFolder, "--text", kText, "--capture", "*hook_implied", "--out", (folder.path() / "t.npz").string()}));
}

TEST(StateUpdateCommands, WhatNeedsAttentionIsRefusedByName) {
    const TempFolder folder;
    const std::vector<std::vector<std::string>> commands = {
        {"analyze", "heads", kFolder, "--text", kText},
        {"analyze", "rollout", kFolder, "--text", kText},
        {"analyze", "contributions", kFolder, "--text", kText},
        {"analyze", "attribution", kFolder, "--text", kText},
        {"analyze", "focus", kFolder, "--text", kText, "--layer", "0", "--head", "0"},
        {"analyze", "induction", kFolder},
        {"analyze", "ov", kFolder, "--layer", "0", "--head", "0", "--out", (folder.path() / "ov.json").string()},
        {"analyze", "composition", kFolder},
        {"analyze", "kv-cache", kFolder},
        {"render", kFolder, "--text", kText, "--view", "rollout", "--out", "out.png"},
    };
    for (const auto& words : commands) {
        const Outcome outcome = headlight(words);
        EXPECT_EQ(outcome.code, 1) << outcome.command << outcome.out;
        EXPECT_THAT(outcome.err, HasSubstr("softmax attention")) << outcome.command;
    }
}

}  // namespace state_updates_test
}  // namespace headlight
