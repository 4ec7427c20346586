// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/safetensors.h"
#include "program.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight {
namespace {

using nlohmann::json;
using test::headlight;
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
        const Outcome outcome = headlight({"trace", model, "--image", picture, "--capture", "all", "--out", file});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
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
    const Outcome outcome = headlight({"render", kVit, "--image", kPicture, "--view", "picture", "--layer", "1", "--query", "3", "--out", file});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Outcome png = headlight({"render", kVit, "--image", kPicture, "--view", "picture", "--of", "rollout", "--over", "reveal", "--out", folder / "p.png"});
    EXPECT_EQ(png.code, 0) << png.err;
}

TEST(PictureCommands, LensSpeaksOfClasses) {
    const Outcome outcome = headlight({"analyze", "lens", kVit, "--image", kPicture});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("golden"));
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

TEST(PictureCommands, WrongUseIsTold) {
    EXPECT_THAT(headlight({"trace", kVit, "--text", "the cat", "--out", "/nowhere/t.npz"}).err, HasSubstr("nowhere"));
    const TempFolder folder;
    const auto out = folder / "t.npz";
    EXPECT_THAT(headlight({"trace", kVit, "--text", "the cat", "--out", out}).err, HasSubstr("reads pictures"));
    EXPECT_THAT(headlight({"trace", kVit, "--image", kVit + "/config.json", "--out", out}).err, HasSubstr("cannot be read"));
    EXPECT_THAT(headlight({"trace", "novella-7m", "--image", kPicture, "--out", out}).err, HasSubstr("reads text"));
    EXPECT_EQ(headlight({"trace", kVit, "--image", kPicture, "--text", "x", "--out", out}).code, 2);
    EXPECT_THAT(headlight({"info", kVit, "--tower", "vision"}).err, HasSubstr("no towers"));
    EXPECT_THAT(headlight({"analyze", "importance", kVit, "--text", "x"}).err, HasSubstr("pictures"));
}

}  // namespace
}  // namespace headlight
