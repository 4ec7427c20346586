// SPDX-License-Identifier: GPL-3.0-or-later
// Pictures: scaled as Pillow scales them, prepared as transformers' processors do, read as patches.
#include "headlight/model/picture.h"

#include "headlight/model/peek.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace picture_test {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

Picture picture_of(const at::Tensor& rgb) {  // [row, column, colour]
    const std::uint8_t* data = rgb.data_ptr<std::uint8_t>();
    return {rgb.size(1), rgb.size(0), {data, data + rgb.numel()}};
}

TEST(Resample, EveryFilterIsPillowsToTheBit) {
    const auto tensors = tensors_in(tests_folder() / "golden" / "resampled.safetensors");
    const Picture whole = picture_of(tensors.at("picture"));
    std::size_t compared = 0;
    for (const auto& [name, expected] : tensors) {
        if (name == "picture") continue;
        const Picture small = resized(whole, expected.size(1), expected.size(0), static_cast<Resample>(name[0] - '0'));
        EXPECT_EQ(small.rgb, picture_of(expected).rgb) << name;
        ++compared;
    }
    EXPECT_EQ(compared, 8u);
}

/// What scaling in float32 may differ by (DINOv3): LibTorch's versions sum a pixel's neighbours in different orders, and the
/// division by the deviation makes a last place of 6e-8 four times as large. With LibTorch 1.13 it is 7.2e-7 at most.
float rounding_of(const PicturePlan& plan, float otherwise) { return plan.rescale_first ? 1.4e-6f : otherwise; }

// From the picture's bytes to the pixels that transformers' processor hands to the model: no rounding apart.
TEST(Prepare, PixelsAreTheReferences) {
    std::size_t compared = 0;
    for (const std::string& name : fixture_names()) {
        const ModelConfig c = read_config(fixture(name));
        if (!reads_pictures(c)) continue;
        const auto tensors = tensors_in(golden_file(name, "f32"));
        const Picture picture = picture_of(tensors.at("picture"));
        const PicturePlan plan = picture_plan(fixture(name), c);
        const PictureInput input = prepare(picture, plan, c);
        const at::Tensor expected = tensors.at("pixels").reshape({-1});
        ASSERT_EQ(static_cast<std::int64_t>(input.pixels.size()), expected.numel()) << name;
        const at::Tensor ours = at::from_blob(const_cast<float*>(input.pixels.data()), expected.sizes(), at::kFloat);
        EXPECT_LE((ours - expected).abs().max().item<float>(), rounding_of(plan, 3e-7f)) << name;
        ++compared;
    }
    EXPECT_EQ(compared, 13u);
}

/// Drawn as tests/golden/vision.py draws it.
Picture photo(std::int64_t width, std::int64_t height) {
    Picture picture{width, height, {}};
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            std::uint32_t grain = static_cast<std::uint32_t>(x) * 73856093U ^ static_cast<std::uint32_t>(y) * 19349663U;
            grain = (grain ^ grain >> 13) * 1274126177U;
            grain = (grain ^ grain >> 16) & 31U;
            const bool sky = y<height / 2 + std::abs(x % 128 - 64) / 2, grid = x> width / 3 * 2 && y > height / 3 * 2;
            for (std::int64_t colour = 0; colour < 3; ++colour) {
                const std::int64_t value = (sky ? 224 - 60 * colour * y / height : 30 + 25 * colour) + grain;
                picture.rgb.push_back(static_cast<std::uint8_t>(grid ? 255 * ((x / (2 + colour) + y / 3) & 1) : value));
            }
        }
    return picture;
}

// The models that people have, and pictures larger and smaller than theirs. Scaling is Pillow's to the bit, so what is left
// is the last place of the float32 arithmetic after it: numbers here go up to 2.7.
TEST(Prepare, PhotographsAreTheReferences) {
    const ScratchModel scratch("vit");
    const io::TensorStore golden = io::TensorStore::open_file(tests_folder() / "golden" / "processed.safetensors");
    ModelConfig c = read_config(scratch.folder);
    c.image_width = c.image_height = 224;
    for (const auto& [name, view] : golden.tensors()) {
        // Pillow 13 scales some tall pictures from top to bottom first, all before it from left to right, as here.
        if (name == "deit.375x500") continue;
        const std::string model = name.substr(0, name.find('.')), size = name.substr(name.find('.') + 1);
        std::ofstream(scratch.folder / "preprocessor_config.json") << golden.metadata().at("preprocessor." + model);
        const Picture picture = photo(std::stoll(size), std::stoll(size.substr(size.find('x') + 1)));
        const PicturePlan plan = picture_plan(scratch.folder, c);
        const PictureInput input = prepare(picture, plan, c);
        const at::Tensor ours =
            at::from_blob(const_cast<float*>(input.pixels.data()), {3 * 224 * 224}, at::kFloat).slice(0, 0, 3 * 224 * 224, 97);
        EXPECT_LE((ours - tensor_of(view)).abs().max().item<float>(), rounding_of(plan, 5e-7f)) << name;
    }
    EXPECT_EQ(golden.tensors().size(), 18u);
}

TEST(Prepare, TheFamilySaysWhichStepsWhereTheFileDoesNot) {
    const ScratchModel scratch("vit");
    ModelConfig c = read_config(scratch.folder);
    std::ofstream(scratch.folder / "preprocessor_config.json") << "{}";
    EXPECT_EQ(picture_plan(scratch.folder, c).crop_height, 0);
    c.family = "deit";
    EXPECT_EQ(picture_plan(scratch.folder, c).width, 256);
    EXPECT_EQ(picture_plan(scratch.folder, c).crop_width, 224);
    c.family = "clip-vision";
    EXPECT_EQ(picture_plan(scratch.folder, c).shortest_edge, 224);
    EXPECT_EQ(picture_plan(scratch.folder, c).resample, Resample::bicubic);
    c.family = "siglip-vision";
    EXPECT_EQ(picture_plan(scratch.folder, c).crop_width, 0);
    EXPECT_EQ(picture_plan(scratch.folder, c).resample, Resample::bicubic);
    c.family = "dinov2";
    EXPECT_EQ(picture_plan(scratch.folder, c).shortest_edge, 224);
    EXPECT_EQ(picture_plan(scratch.folder, c).crop_width, 224);
    c.family = "dinov3_vit";
    EXPECT_TRUE(picture_plan(scratch.folder, c).rescale_first);
    EXPECT_EQ(picture_plan(scratch.folder, c).height, 224);
    EXPECT_EQ(picture_plan(scratch.folder, c).width, 224);
    EXPECT_EQ(picture_plan(scratch.folder, c, "deit").width, 256) << "of a configuration that is being read";
}

TEST(Prepare, WhatIsSeenLiesInTheMiddle) {
    const ModelConfig c = read_config(fixture("deit"));  // scaled to 40 x 40, the middle 32 x 32 is read
    const Picture picture{200, 100, std::vector<std::uint8_t>(200 * 100 * 3, 90)};
    const PictureInput input = prepare(picture, picture_plan(fixture("deit"), c), c);
    EXPECT_DOUBLE_EQ(input.seen.x, 20);
    EXPECT_DOUBLE_EQ(input.seen.width, 160);
    EXPECT_DOUBLE_EQ(input.seen.y, 10);
    EXPECT_DOUBLE_EQ(input.seen.height, 80);
}

/// The grid of patches lies over what is seen: 3 x 3 patches of 8 pixels of the 26 x 26.
TEST(Prepare, PixelsBeyondWholePatchesAreNotSeen) {
    const ModelConfig c = read_config(fixture("siglip-cut"));
    EXPECT_EQ(c.context_length, 9);
    const Picture picture{260, 130, std::vector<std::uint8_t>(260 * 130 * 3, 90)};
    const PictureInput input = prepare(picture, picture_plan(fixture("siglip-cut"), c), c);
    EXPECT_DOUBLE_EQ(input.seen.x, 0);
    EXPECT_DOUBLE_EQ(input.seen.y, 0);
    EXPECT_DOUBLE_EQ(input.seen.width, 240);
    EXPECT_DOUBLE_EQ(input.seen.height, 120);
    EXPECT_EQ(input.pixels.size(), 3u * 26 * 26) << "as the model is given them";
}

TEST(Prepare, BadStepsAreNamed) {
    const ScratchModel scratch("vit");
    const ModelConfig c = read_config(scratch.folder);
    const Picture picture{32, 24, std::vector<std::uint8_t>(32 * 24 * 3, 90)};
    const auto with = [&](const std::string& steps) {
        std::ofstream(scratch.folder / "preprocessor_config.json") << steps;
        return error_of([&] { prepare(picture, picture_plan(scratch.folder, c), c); });
    };
    EXPECT_THAT(with(R"({"size": {"height": 24, "width": 31}})"), HasSubstr("31 x 24"));
    EXPECT_THAT(with(R"({"do_resize": false})"), HasSubstr("no error"));
    EXPECT_THAT(with(R"({"resample": 9})"), HasSubstr("resample"));
    EXPECT_THAT(with(R"({"image_mean": [0.5, 0.5]})"), HasSubstr("image_mean"));
    EXPECT_THAT(with(R"({"image_std": [0.5, 0.5, 0]})"), HasSubstr("image_std"));
    std::filesystem::remove(scratch.folder / "preprocessor_config.json");
    EXPECT_THAT(picture_plan(scratch.folder, c).warning, HasSubstr("preprocessor_config.json"));
    EXPECT_THAT(error_of([&] { prepare({}, picture_plan(scratch.folder, c), c); }), HasSubstr("no pixels"));
}

TEST(ViT, WithoutPixelsNothingRuns) {
    const auto model = Model::load(fixture("vit"));
    Collector seen;
    const auto run = [&](ForwardInput input) { return error_of([&] { forward(*model, input, seen, {}, {}); }); };
    EXPECT_THAT(run({.ids = {1, 2, 3}, .type_ids = {}}), HasSubstr("needs a picture"));
    EXPECT_THAT(run({.ids = {}, .type_ids = {}, .pixels = std::make_shared<const std::vector<float>>(7)}),
                HasSubstr("2304 numbers"));
}

TEST(ViT, ConfigurationAndLoadReport) {
    const auto vit = Model::load(fixture("vit"));
    EXPECT_EQ(patch_rows(vit->config()), 3);
    EXPECT_EQ(patch_columns(vit->config()), 4);
    EXPECT_EQ(vit->config().context_length, 13);
    EXPECT_EQ(vit->config().labels.at(4), "golden retriever");
    EXPECT_TRUE(vit->report().unused.empty());
    const auto base = Model::load(fixture("vit-base"));
    EXPECT_FALSE(base->config().has_unembedding);
    EXPECT_THAT(base->report().optional_missing, testing::ElementsAre("classifier"));
    const auto deit = Model::load(fixture("deit"));
    EXPECT_EQ(deit->config().class_tokens, 2);
    EXPECT_EQ(deit->config().activation, Activation::quick_gelu);
    EXPECT_THAT(deit->report().ignored,
                testing::UnorderedElementsAre("distillation_classifier.weight", "distillation_classifier.bias"));
    EXPECT_TRUE(deit->report().unused.empty());
}

TEST(ViT, BadConfigurationIsNamed) {
    const auto with = [&](const std::string& field, const nlohmann::json& value) {
        const ScratchModel copy("vit");
        copy.edit_config([&](nlohmann::json& json) { json[field] = value; });
        return error_of([&] { read_config(copy.folder); });
    };
    EXPECT_THAT(with("patch_size", 25), AllOf(HasSubstr("patch_size"), HasSubstr("sides 24 and 32")));
    EXPECT_THAT(with("num_channels", 1), HasSubstr("num_channels"));
    EXPECT_THAT(with("image_size", {24, -32}), HasSubstr("image_size"));
    EXPECT_THAT(with("id2label", {{"0", "cat"}, {"7", "dog"}}), HasSubstr("id2label"));
}

}  // namespace picture_test
}  // namespace headlight::model
