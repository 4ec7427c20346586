// SPDX-License-Identifier: GPL-3.0-or-later
// Llama 4, GLM-4.5 and Longformer: what the goldens do not reach.
#include "headlight/model/block_list.h"
#include "headlight/model/peek.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace llama4_test {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Llama4, AQuerySeesTheKeysOfItsChunk) {
    EXPECT_EQ(legal_keys(4, 20, true, -5), (KeyRange{0, 5}));
    EXPECT_EQ(legal_keys(5, 20, true, -5), (KeyRange{5, 6}));
    EXPECT_EQ(legal_keys(13, 20, true, -5), (KeyRange{10, 14}));
    EXPECT_EQ(legal_keys(13, 20, false, -5), (KeyRange{10, 15}));
    EXPECT_EQ(legal_keys(18, 19, false, -5), (KeyRange{15, 19})) << "the last chunk is not whole";
}

/// The fields of files of 2025: a number in the place of the flag, lists longer than the model, kinds of layers by name.
TEST(Llama4, ReadsTheFieldsOfPublishedFiles) {
    const ModelConfig c = read_config(fixture("llama4"));
    EXPECT_THAT(c.windows, ElementsAre(-5, -5, -5, 0));
    EXPECT_THAT(c.experts.layers, ElementsAre(false, true, false, true));
    EXPECT_EQ(layer_label(c, 0), "chunks of 5, dense MLP");
    EXPECT_EQ(layer_label(c, 3), "global, no rotation, experts");
    const auto edited = [](const auto& edit) {
        const ScratchModel copy("llama4");
        copy.edit_config(edit);
        return read_config(copy.folder);
    };
    const ModelConfig old = edited([](json& config) {
        config.erase("layer_types");
        config["attn_temperature_tuning"] = 4;
        config["no_rope_layers"] = {1, 1, 1, 0, 1, 1};
        config["moe_layers"] = {1, 3, 5};
    });
    EXPECT_EQ(old.windows, c.windows);
    EXPECT_EQ(old.query_growth.beta, c.query_growth.beta);
    EXPECT_EQ(old.experts.layers, c.experts.layers);
    EXPECT_FALSE(edited([](json& config) { config["attn_temperature_tuning"] = 0; }).query_growth.any());
    EXPECT_THAT(
        config_failure("llama4", "layer_types", {"full_attention", "sliding_attention", "full_attention", "full_attention"}),
        HasSubstr("chunked_attention"));
    EXPECT_THAT(config_failure("llama4", "no_rope_layers", {1, 0}), AllOf(HasSubstr("no_rope_layers"), HasSubstr("4 layers")));
}

/// Layers that do not rotate have no norm of queries and keys.
TEST(Llama4, HooksOfNormsAreWhereTheLayerRotates) {
    const ModelConfig c = read_config(fixture("llama4"));
    std::vector<std::int64_t> layers;
    for (const HookPoint& point : hooks_of(c))
        if (point.hook == Hook::q_norm_scale) layers.push_back(point.layer.value);
    EXPECT_THAT(layers, ElementsAre(0, 1, 2));
    const BlockList blocks = blocks_of(*Model::load(fixture("llama4"), {.device = "cpu"}));
    EXPECT_THAT(blocks.layer.front().detail,
                AllOf(HasSubstr("chunks of 5 in 3 of 4 layers"), HasSubstr("behind the rotation in 3 of 4 layers"),
                      HasSubstr("grow every 4 tokens where they do not rotate")));
    EXPECT_THAT(blocks.layer.back().detail, HasSubstr("its input weighted"));
}

TEST(Longformer, AWindowOfEachLayerIsReadAsHalfToEitherSide) {
    EXPECT_THAT(read_config(fixture("longformer")).windows, ElementsAre(3, 5));
    const ScratchModel copy("longformer");
    copy.edit_config([](json& config) { config["attention_window"] = 6; });
    EXPECT_THAT(read_config(copy.folder).windows, ElementsAre(4, 4));
    EXPECT_THAT(config_failure("longformer", "attention_window", {4, 5}),
                AllOf(HasSubstr("attention_window"), HasSubstr("even")));
    EXPECT_THAT(config_failure("longformer", "attention_window", {4}), HasSubstr("attention_window"));
}

TEST(Longformer, ClassesWithGlobalTokensAreRefusedByName) {
    for (const char* kind : {"LongformerForSequenceClassification", "LongformerForQuestionAnswering"})
        EXPECT_THAT(config_failure("longformer", "architectures", {kind}), AllOf(HasSubstr(kind), HasSubstr("attends globally")));
}

}  // namespace llama4_test
}  // namespace headlight::model
