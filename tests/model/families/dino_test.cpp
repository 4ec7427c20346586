// SPDX-License-Identifier: GPL-3.0-or-later
// DINOv2 and SigLIP's towers: what the goldens do not reach.
#include "headlight/model/block_list.h"
#include "headlight/model/locate.h"
#include "headlight/model/peek.h"
#include "model/blocks/pass.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace dino_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

TEST(Dino, PicturesHaveThePreprocessorsSize) {
    const ModelConfig c = read_config(fixture("dinov2"));  // positions of 6 x 6 patches of 4 pixels
    EXPECT_EQ(c.image_height, 20);
    EXPECT_EQ(c.image_width, 16);
    EXPECT_EQ(c.table_side, 6);
    EXPECT_EQ(c.context_length, 1 + 5 * 4);

    const ScratchModel copy("dinov2");
    std::filesystem::remove(copy.folder / "preprocessor_config.json");
    const ModelConfig whole = read_config(copy.folder);
    EXPECT_EQ(whole.image_width, 24);
    EXPECT_EQ(whole.table_side, 0);

    std::ofstream(copy.folder / "preprocessor_config.json") << R"({"crop_size": {"height": 3, "width": 16}})";
    EXPECT_THAT(failure(copy.folder), AllOf(HasSubstr("patch_size"), HasSubstr("sides 3 and 16")));
}

/// Without an interpolation the file's positions stay as they are, and registers have none between them.
TEST(Dino, RegistersHaveNoPosition) {
    const ScratchModel copy("dinov2-registers");
    std::filesystem::remove(copy.folder / "preprocessor_config.json");
    const auto model = Model::load(copy.folder, {.device = "cpu"});
    const at::Tensor table = model->internals().pos_embed;
    ASSERT_EQ(table.size(0), 1 + 3 + 7 * 7);
    EXPECT_EQ(table.narrow(0, 1, 3).abs().max().item<float>(), 0);
    EXPECT_GT(table.select(0, 0).abs().min().item<float>(), 0);
    EXPECT_GT(table.select(0, 4).abs().max().item<float>(), 0);
}

/// [CLS] and the patches have one each.
TEST(Dino, TheBlockOfPositionsSaysHowManyAndWhatTheyAreMadeOf) {
    const auto positions = [](const char* name) {
        const BlockList blocks = blocks_of(*Model::load(fixture(name), {.device = "cpu"}));
        const auto found = std::ranges::find(blocks.before, "position_embedding", &BlockInfo::id);
        return found == blocks.before.end() ? "none" : found->detail;
    };
    EXPECT_EQ(positions("dinov2"), "21 × 16, interpolated from 6 × 6 patches");
    EXPECT_EQ(positions("dinov2-registers"), "25 × 16, interpolated from 7 × 7 patches") << "3 registers have none";
    EXPECT_EQ(positions("dinov2-gated"), "17 × 16");
    EXPECT_EQ(positions("dinov3"), "none");
}

/// What layer scale is multiplied into is another number than the file's.
TEST(Dino, ScaledMatricesAreCountedAsCopied) {
    const auto model = Model::load(fixture("dinov2"), {.device = "cpu"});
    const ModelConfig& c = model->config();
    EXPECT_EQ(model->report().bytes_copied, 4 * c.n_layers * (c.d_model + 1 + c.d_mlp + 1) * c.d_model);
    EXPECT_GT(model->report().bytes_mapped, 0);
    for (const LoadedParameter& loaded : model->report().loaded)
        EXPECT_EQ(loaded.mapped, !loaded.tensor.ends_with("attention.output.dense.weight") &&
                                     !loaded.tensor.ends_with("attention.output.dense.bias") &&
                                     loaded.tensor.find(".mlp.fc2.") == std::string::npos)
            << loaded.tensor;
}

TEST(Dino, TheFilesTableIsCounted) {
    EXPECT_EQ(Model::load(fixture("dinov2"), {.device = "cpu"})->parameter_counts().at("positions"), (1 + 6 * 6) * 16);
    EXPECT_EQ(Model::load(fixture("dinov2-registers"), {.device = "cpu"})->parameter_counts().at("positions"), (1 + 7 * 7) * 16);
}

/// The matrix that the program shows is the one that writes to the stream.
TEST(Dino, LayerScaleIsInTheMatrices) {
    const ScratchModel copy("dinov2");
    const auto with = Model::load(copy.folder, {.device = "cpu"});
    copy.edit_weights([](StoredTensors& tensors) {
        for (const char* name : {"layer.0.layer_scale1.lambda1", "layer.0.layer_scale2.lambda1"})
            for (std::int64_t i = 0; i < 16; ++i) find(tensors, name).set_float(i, 1);
    });
    const auto without = Model::load(copy.folder, {.device = "cpu"});
    const LayerWeights &a = with->internals().layers[0], &b = without->internals().layers[0];
    EXPECT_TRUE(at::equal(a.o.weight, b.o.weight * a.attn_scale));
    EXPECT_TRUE(at::equal(a.o.bias, b.o.bias * a.attn_scale));
    EXPECT_TRUE(at::equal(a.mlp_out.weight, b.mlp_out.weight * a.mlp_scale));
    EXPECT_TRUE(at::equal(a.mlp_out.bias, b.mlp_out.bias * a.mlp_scale));
    EXPECT_FALSE(at::equal(a.o.weight, b.o.weight));
}

TEST(Dino, ClassTokensDoNotTurnAndTheMiddleRowOnlyWithItsColumn) {
    const auto model = Model::load(fixture("dinov3"), {.device = "cpu"});  // [CLS], 2 registers, 5 x 4 patches
    const at::Tensor x = at::ones({1, 23, 8}), turned = rotate_rows(model->internals(), Layer(0), x, true, 0, 23);
    EXPECT_TRUE(at::equal(turned.narrow(1, 0, 3), x.narrow(1, 0, 3)));
    const at::Tensor middle = turned[0][3 + 2 * 4];  // row 3 of 5: angle 0
    EXPECT_FLOAT_EQ(middle[0].item<float>(), 1);
    EXPECT_FLOAT_EQ(middle[1].item<float>(), 1);
    EXPECT_NE(middle[2].item<float>(), 1);
}

TEST(Dino, WhatIsNotBuiltIsRefusedByName) {
    EXPECT_THAT(config_failure("dinov3", [](json& c) { c["key_bias"] = true; }), HasSubstr("key_bias"));
    EXPECT_THAT(config_failure("dinov3", [](json& c) { c["num_attention_heads"] = 16; }), HasSubstr("multiple of 4"));
    EXPECT_THAT(config_failure("dinov2", [](json& c) { c["image_size"] = {24, 20}; }), HasSubstr("square"));
    EXPECT_THAT(config_failure("dinov2", [](json& c) { c["mlp_ratio"] = 0.01; }), HasSubstr("mlp_ratio"));
}

TEST(Siglip, TheVisionTowerOpensAndTheTextTowerIsRefused) {
    const auto model = Model::load(fixture("siglip"), {.device = "cpu"});
    EXPECT_EQ(model->config().family, "siglip-vision");
    EXPECT_EQ(model->config().class_tokens, 0);
    EXPECT_TRUE(model->report().unused.empty());
    ASSERT_FALSE(model->report().notes.empty());
    EXPECT_THAT(model->report().notes.front(), HasSubstr("pooling head"));
    EXPECT_THAT(failure(with_tower(fixture("siglip"), kTextTower)), HasSubstr("padding"));
    EXPECT_EQ(read_config(with_tower(fixture("siglip"), kVisionTower)).family, "siglip-vision");
    EXPECT_THAT(failure(with_tower(fixture("gpt2"), kVisionTower)), AllOf(HasSubstr("no towers"), HasSubstr("clip or siglip")));
}

/// The parts of a vision-language model that are not its text's are expected; a layer too many of a tower is not.
TEST(Siglip, ALayerTooManyIsReported) {
    const ScratchModel copy("siglip");
    const std::string name = "vision_model.encoder.layers.7.mlp.fc1.weight";
    copy.edit_weights([&](StoredTensors& tensors) { tensors.push_back({name, io::DType::F32, {1}, std::vector<std::byte>(4)}); });
    EXPECT_THAT(Model::load(copy.folder, {.device = "cpu"})->report().unused, testing::ElementsAre(name));
}

}  // namespace dino_test
}  // namespace headlight::model
