// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/json_file.h"
#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"
#include "tests/cli/program.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace picture_test {

using nlohmann::json;
using test::done;
using test::headlight;
using test::joined;
using test::Outcome;
using test::TempFolder;
using testing::HasSubstr;

const std::string kTests = std::string(HEADLIGHT_SOURCE_DIR) + "/tests/";
const std::string kVit = kTests + "fixtures/models/vit", kClip = kTests + "fixtures/models/clip";
const std::string kPicture = kTests + "fixtures/pictures/shapes.png", kScene = kTests + "fixtures/pictures/scene.png";

// From the file on the command line to the number in the file: the golden's pixels came through Pillow and transformers.
TEST(PictureCommands, TraceOfAFileIsTheReferences) {
    for (const auto& [name, model, picture, what] :
         {std::tuple{"vit", kVit, kPicture, "logits"}, std::tuple{"clip#vision", kClip + "#vision", kScene, "hook_projected"}}) {
        const TempFolder folder;
        const auto file = folder / "t.safetensors";
        done(headlight({"trace", model, "--image", picture, "--capture", "all", "--out", file}));
        const io::TensorStore ours = io::TensorStore::open_file(file);
        const io::TensorStore theirs = io::TensorStore::open_file(kTests + "golden/" + name + ".f32.safetensors");
        ASSERT_EQ(ours.find(what)->shape, theirs.find(what)->shape);
        const auto* a = reinterpret_cast<const float*>(ours.find(what)->bytes.data());
        const auto* b = reinterpret_cast<const float*>(theirs.find(what)->bytes.data());
        for (std::int64_t i = 0; i < ours.find(what)->numel(); ++i) ASSERT_NEAR(a[i], b[i], 2e-4) << name << " " << i;
        EXPECT_EQ(ours.metadata().at("image"), picture);
    }
}

TEST(PictureCommands, RenderAndItsData) {
    const TempFolder folder;
    const auto file = folder / "p.csv";
    done(headlight({"render", kVit, "--image", kPicture, "--view", "picture", "--layer", "1", "--query", "3", "--out", file}));
    const std::string rows = io::read_text(file);
    EXPECT_THAT(rows, HasSubstr("layer,panel,query,query_token,key,key_token,row,column,weight"));
    EXPECT_EQ(std::ranges::count(rows, '\n') - std::ranges::count(rows, '#'), 1 + 4 * 13) << "a head and a token each";
    EXPECT_THAT(rows, HasSubstr(R"(1,"Head 2",3,"r1c3",12,"r3c4",3,4,)"));
    EXPECT_THAT(rows, HasSubstr("--image"));
    done(headlight({"render", kVit, "--image", kPicture, "--view", "picture", "--of", "rollout", "--over", "reveal", "--out",
                    folder / "p.png"}));
}

TEST(PictureCommands, LensSpeaksOfClasses) {
    const Outcome outcome = done(headlight({"analyze", "lens", kVit, "--image", kPicture}));
    EXPECT_THAT(outcome.out, HasSubstr("golden"));
}

// What a picture is taken for is read off its first token, in every view of predictions.
TEST(PictureCommands, AttributionIsOfTheClass) {
    const TempFolder folder;
    const auto of = [&](const std::vector<std::string>& more) {
        const std::vector<std::string> call = {"render",  kVit, "--image", kPicture, "--view", "attribution",
                                               "--layer", "1",  "--heads", "0",      "--out",  folder / "a.npz"};
        done(headlight(joined(call, more)));
        const io::NpzContent content = io::read_npz(folder / "a.npz");
        const auto& heads = content.arrays.begin()->second;
        return std::vector<std::byte>(heads.bytes.begin(), heads.bytes.end());
    };
    EXPECT_EQ(of({}), of({"--query", "0"}));
    EXPECT_NE(of({}), of({"--query", "5"}));
}

TEST(PictureCommands, InfoTellsWhatIsRead) {
    const json info = json::parse(headlight({"info", kVit, "--json"}).out);
    EXPECT_EQ(info["config"]["patch_size"], 8);
    EXPECT_EQ(info["config"]["image_size"], json::parse("[24, 32]"));
    const json vision = json::parse(headlight({"info", kClip, "--tower", "vision", "--json"}).out);
    EXPECT_EQ(vision["family"], "clip-vision");
    EXPECT_EQ(vision["config"]["d_projection"], 12);
    EXPECT_EQ(json::parse(headlight({"info", kClip, "--json"}).out)["family"], "clip-text");
}

// Every analysis of a picture gives a table whose file says which picture.
TEST(PictureCommands, Analyses) {
    const TempFolder folder;
    const auto file = folder / "a.json";
    const std::vector<std::vector<std::string>> analyses = {{"heads"},
                                                            {"rollout"},
                                                            {"lens"},
                                                            {"focus", "--layer", "1", "--head", "0"},
                                                            {"value-mix"},
                                                            {"refinement"},
                                                            {"detect", "--kind", "previous-token"},
                                                            {"attribution", "--position", "0", "--token", "dog"},
                                                            {"mlp", "--layer", "1", "--position", "0"},
                                                            {"contributions", "--position", "0"},
                                                            {"drivers", "--layer", "1", "--position", "0", "--neuron", "3"}};
    for (const auto& analysis : analyses) {
        done(headlight(joined(joined({"analyze"}, analysis), {kVit, "--image", kPicture, "--out", file})));
        EXPECT_THAT(io::read_text(file), HasSubstr("shapes.png")) << analysis[0];
    }
}

/// Classes are answers, cells are patches, and another picture can be patched from.
TEST(PictureCommands, Sweeps) {
    const TempFolder folder;
    const auto file = folder / "s.json";
    const auto swept = [&](const std::vector<std::string>& more) {
        done(headlight(joined({"sweep", kVit, "--image", kPicture, "--answer", "dog", "--wrong", "2", "--out", file}, more)));
        return json::parse(io::read_text(file));
    };
    const json patches = swept({"--ablate", "zero", "--site", "resid_pre"});
    EXPECT_EQ(patches["rows"].size(), 2u * 13);
    EXPECT_EQ(patches["rows"][1][2], "r1c1");
    EXPECT_EQ(patches["facts"]["image"], kPicture);
    EXPECT_EQ(patches["facts"]["wrong"], "2 crane");
    // The value is the class' logit minus the other's in the run under the same edit.
    const auto trace = folder / "t.safetensors";
    done(headlight({"trace", kVit, "--image", kPicture, "--edit", "zero L1H2", "--capture", "logits", "--out", trace}));
    const io::TensorStore store = io::TensorStore::open_file(trace);
    const auto* logits = reinterpret_cast<const float*>(store.find("logits")->bytes.data());
    const json heads = swept({"--ablate", "zero"});
    EXPECT_NEAR(heads["rows"][6][2].get<double>(), logits[1] - logits[2], 1e-5) << heads["rows"][6].dump();
    EXPECT_EQ(swept({"--corrupt-image", kScene, "--site", "resid_pre"})["facts"]["corrupt_image"], kScene);
    folder.write("pairs.jsonl", R"({"clean": ")" + kPicture + R"(", "answer": "dog", "wrong": "cat"})" + "\n" + R"({"clean": ")" +
                                    kScene + R"(", "answer": "dog", "wrong": "cat"})" + "\n");
    const Outcome pairs = headlight({"sweep", kVit, "--pairs", folder / "pairs.jsonl", "--ablate", "resample"});
    EXPECT_THAT(pairs.out, HasSubstr("band_low")) << pairs.err;
    done(headlight({"sweep", kVit, "--image", kPicture, "--answer", "dog", "--metric", "prob", "--ablate", "zero", "--out",
                    folder / "s.svg"}));
    EXPECT_THAT(io::read_text(folder / "s.svg"), HasSubstr("--image " + kPicture));
    EXPECT_THAT(headlight({"sweep", kVit, "--clean", "a text", "--ablate", "zero"}).err, HasSubstr("Give --image"));
    EXPECT_THAT(headlight({"sweep", kClip + "#vision", "--image", kScene, "--ablate", "zero"}).err, HasSubstr("no class logits"));
}

/// How a call fails: one line that names what is wrong and what to do.
void expect_error(const std::vector<std::string>& call, const std::vector<std::string>& words, int code = 1) {
    const Outcome outcome = test::refused(headlight(call), code);
    for (const std::string& word : words) EXPECT_THAT(outcome.err, HasSubstr(word));
}

TEST(PictureCommands, TheTokenizerBelongsToTheFolder) {
    const std::string plain = headlight({"tokenize", kClip, "--text", "The cat"}).out;
    EXPECT_THAT(plain, HasSubstr("cat"));
    EXPECT_EQ(headlight({"tokenize", kClip, "--tower", "text", "--text", "The cat"}).out, plain);
}

TEST(PictureCommands, WrongUseIsTold) {
    const TempFolder folder;
    const std::string out = folder / "t.npz", no_picture = kVit + "/config.json";
    expect_error({"trace", kVit, "--text", "the cat", "--out", out}, {"vit reads pictures", "--text", "--image FILE"});
    expect_error({"trace", kVit, "--image", no_picture, "--out", out}, {no_picture, "cannot be read", "*.png"});
    expect_error({"trace", kVit, "--image", "none.png", "--out", out}, {"none.png", "No such file"});
    expect_error({"trace", kVit, "--image", "", "--out", out}, {"No picture is named", "--image"});
    expect_error({"trace", kVit, "--image", kVit, "--out", out}, {kVit, "a folder"});
    expect_error({"trace", "novella-7m", "--image", kPicture, "--out", out}, {kPicture, "novella-7m reads text", "--text"});
    expect_error({"trace", kClip, "--image", kPicture, "--out", out}, {kPicture, "reads text", "--tower vision"});
    expect_error({"trace", kClip, "--tower", "vision", "--text", "x", "--out", out},
                 {"reads pictures", "leave --tower vision out"});
    expect_error({"trace", kVit, "--image", kPicture, "--text", "x", "--out", out}, {"--image", "--text"}, 2);
    expect_error({"trace", kVit, "--out", out}, {"--image FILE"}, 2);
    expect_error({"info", kVit, "--tower", "vision"}, {"no towers"});
    expect_error({"info", kClip, "--tower", "eye"}, {"text", "vision"}, 2);
    expect_error({"analyze", "importance", kVit, "--text", "x", "--position", "0"}, {"reads pictures", "about texts"});
    expect_error({"render", "novella-7m", "--text", "x", "--view", "picture", "--out", folder / "p.png"}, {"reads text"});
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(PictureCommands, AnSvgWithTextNeedsNoDisplay) {
    const TempFolder folder;
    const auto svg = folder.write("a.svg",
                                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"64\" height=\"64\">"
                                  "<rect width=\"64\" height=\"64\" fill=\"white\"/><text x=\"5\" y=\"40\">Hi</text></svg>");
    done(headlight({"analyze", "lens", kVit, "--image", svg}));
}

TEST(PictureCommands, WhatIsNoPictureIsOneLine) {
    const TempFolder folder;
    const auto pipe = folder / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::string cut = io::read_text(kPicture);
    cut.resize(cut.size() / 2);
    const std::string huge =  // 3.6 GB, decoded
        "P6\n30000 30000\n255\n";
    for (const auto& [file, reason] :
         std::initializer_list<std::pair<std::string, const char*>>{{pipe, "a pipe"},
                                                                    {"/dev/zero", "a device"},
                                                                    {folder.write("cut.png", cut), "cannot be read"},
                                                                    {folder.write("huge.ppm", huge), "at most 1 GB"},
                                                                    {folder.write("text.png", "hello"), "these are read"}}) {
        const Outcome outcome = headlight({"analyze", "lens", kVit, "--image", file});
        EXPECT_EQ(outcome.code, 1) << file;
        EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
        EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(reason), HasSubstr(file)));
    }
}

}  // namespace picture_test
}  // namespace headlight
