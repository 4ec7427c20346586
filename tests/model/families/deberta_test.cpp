// SPDX-License-Identifier: GPL-3.0-or-later
// What the goldens of tiny models do not reach: far distances, the two heads, and what is refused.
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace headlight::model {
namespace deberta_test {

using testing::AllOf;
using testing::HasSubstr;

/// transformers: make_log_bucket_position, then the span added and the ends clamped.
TEST(Deberta, RowsOfDistancesAreThoseOfTransformers) {
    const Disentangled v3{.span = 256, .buckets = 256, .max_distance = 512};
    const std::vector<std::pair<std::int64_t, std::int64_t>> expected = {
        {0, 256},    {1, 257},   {-1, 255},  {3, 259},   {-4, 252},  {127, 383}, {128, 384}, {129, 385}, {130, 386},
        {-131, 125}, {200, 425}, {-200, 87}, {400, 489}, {511, 511}, {-511, 1},  {512, 511}, {600, 511}, {-5000, 0}};
    for (const auto& [distance, row] : expected) EXPECT_EQ(relative_row(v3, distance), row) << distance;
    const Disentangled plain{.span = 5, .max_distance = 5};
    EXPECT_EQ(relative_row(plain, 3), 8);
    EXPECT_EQ(relative_row(plain, 90), 9);
    EXPECT_EQ(relative_row(plain, -90), 0);
}

TEST(Deberta, WhatIsNotBuiltIsRefusedByName) {
    EXPECT_THAT(config_failure("deberta-v1", "talking_head", true), HasSubstr("talking_head"));
    EXPECT_THAT(config_failure("deberta-v1", "pos_att_type", "c2p|c2p"), HasSubstr("pos_att_type"));
    EXPECT_THAT(config_failure("deberta-conv", "conv_kernel_size", 4),
                AllOf(HasSubstr("conv_kernel_size"), HasSubstr("odd"), HasSubstr("4")));
    EXPECT_THAT(config_failure("deberta-conv", "conv_groups", 3), AllOf(HasSubstr("conv_groups"), HasSubstr("16")));
    EXPECT_THAT(config_failure("deberta-conv", "conv_act", "mish"), AllOf(HasSubstr("conv_act"), HasSubstr("tanh")));
    EXPECT_THAT(config_failure("deberta-conv", "conv_groups", 2),
                AllOf(HasSubstr("encoder.conv.conv.weight"), HasSubstr("[16, 8, 3]")));
    EXPECT_THAT(config_failure("deberta", "embedding_size", 8), AllOf(HasSubstr("embedding_size"), HasSubstr("16")));
    EXPECT_THAT(config_failure("deberta", "pos_att_type", "c2p|p2p"), AllOf(HasSubstr("pos_att_type"), HasSubstr("p2c")));
    EXPECT_THAT(config_failure("deberta", "norm_rel_ebd", "rms_norm"), HasSubstr("norm_rel_ebd"));
    EXPECT_THAT(config_failure("deberta", "max_relative_positions", 4), HasSubstr("position_buckets"));
}

/// Old files write the terms as one text.
TEST(Deberta, TermsMayStandInOneText) {
    const ScratchModel copy("deberta");
    copy.edit_config([](nlohmann::json& config) { config["pos_att_type"] = "p2c|c2p"; });
    const Disentangled d = Model::load(copy.folder)->config().disentangled;
    EXPECT_TRUE(d.content_to_position && d.position_to_content && d.shared_projections && d.normed);
}

/// Without relative positions the scale still counts the terms, as in transformers.
TEST(Deberta, WithoutRelativePositionsTheScaleStays) {
    const ScratchModel copy("deberta");
    copy.edit_config([](nlohmann::json& config) { config["relative_attention"] = false; });
    const auto model = Model::load(copy.folder);
    EXPECT_FALSE(model->config().disentangled.any());
    EXPECT_DOUBLE_EQ(model->config().score_scale, 1 / std::sqrt(3.0 * 8));
    EXPECT_FALSE(run_all(*model, some_text(model->config(), 5)).tensors.contains("blocks.0.attn.hook_c2p"));
}

/// The authors' files hold their own head, whatever `legacy` says of transformers' one.
TEST(Deberta, TheHeadThatIsThereIsRead) {
    const ScratchModel copy("deberta-c2p");
    copy.edit_config([](nlohmann::json& config) { config.erase("legacy"); });
    const auto model = Model::load(copy.folder);
    ASSERT_TRUE(model->config().mlm_head);
    EXPECT_TRUE(model->report().unused.empty());
    const ForwardInput input = some_text(model->config(), 6);
    const Collector ours = run_all(*model, input), theirs = run_all(*Model::load(fixture("deberta-c2p")), input);
    EXPECT_TRUE(at::equal(ours.tensors.at("logits"), theirs.tensors.at("logits")));
}

/// By the definition, token by token: zeros beyond both ends, and each group of numbers by itself.
TEST(Deberta, TheConvolutionIsThatOfItsDefinition) {
    for (const char* name : {"deberta-conv", "deberta-conv-groups"}) {
        SCOPED_TRACE(name);
        const auto model = Model::load(fixture(name), {.dtype = ComputeType::float64, .device = "cpu"});
        const ModelConfig& c = model->config();
        const auto store = io::TensorStore::open_folder(fixture(name));
        const auto stored = [&](const char* part) {
            return tensor_of(*store.find(std::string("deberta.encoder.conv.conv.") + part)).to(at::kDouble);
        };
        const at::Tensor weight = stored("weight"), bias = stored("bias");
        for (const std::int64_t tokens : {1, 2, 7}) {
            const Collector seen = run_all(*model, some_text(c, tokens));
            const at::Tensor x = seen.tensors.at("blocks.0.hook_resid_pre"), pre = seen.tensors.at("blocks.0.conv.hook_pre");
            const std::int64_t width = c.d_model / c.convolution.groups, reach = c.convolution.width / 2;
            for (std::int64_t p = 0; p < tokens; ++p)
                for (std::int64_t o = 0; o < c.d_model; ++o) {
                    double sum = bias[o].item<double>();
                    for (std::int64_t t = -reach; t <= reach; ++t) {
                        if (p + t < 0 || p + t >= tokens) continue;
                        sum +=
                            at::dot(x[p + t].narrow(0, o / width * width, width), weight[o].select(1, t + reach)).item<double>();
                    }
                    ASSERT_NEAR(pre[p][o].item<double>(), sum, 1e-10) << p << " " << o;
                }
        }
        EXPECT_FALSE(has_convolution(c, 1));
        const std::vector<HookPoint> hooks = hooks_of(c);
        EXPECT_EQ(std::ranges::count(hooks, Hook::conv_out, &HookPoint::hook), 1);
    }
}

TEST(Deberta, EveryParameterIsCounted) {
    for (const char* name : {"deberta", "deberta-c2p", "deberta-p2c", "deberta-conv", "deberta-conv-groups"}) {
        const auto model = Model::load(fixture(name));
        EXPECT_EQ(counted_parameters(*model), stored_parameters(*model)) << name;
    }
}

}  // namespace deberta_test
}  // namespace headlight::model
