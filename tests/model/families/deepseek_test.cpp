// SPDX-License-Identifier: GPL-3.0-or-later
// DeepSeek-V2 and V3: the effect of each field of config.json, refused values, and defaults.
#include "headlight/model/peek.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace headlight::model {
namespace deepseek_test {

using testing::HasSubstr;

at::Tensor logits_of(const std::filesystem::path& folder) {
    const auto model = Model::load(folder, {.dtype = ComputeType::float64, .device = "cpu"});
    return run_all(*model, some_text(model->config(), 24)).tensors.at("logits");
}

using Edit = std::function<void(nlohmann::json&)>;

at::Tensor logits_with(const char* name, const Edit& edit) {
    const ScratchModel copy(name);
    copy.edit_config(edit);
    return logits_of(copy.folder);
}

/// The goldens hold only where each of these switches is read.
TEST(Latent, EveryFieldChangesTheNumbers) {
    const auto set = [](const char* field, const nlohmann::json& value) {
        return [=](nlohmann::json& config) { config[field] = value; };
    };
    const auto rope = [](const char* field, const nlohmann::json& value) {
        return [=](nlohmann::json& config) { config["rope_parameters"][field] = value; };
    };
    const std::vector<std::tuple<const char*, const char*, Edit>> edits = {
        {"deepseek-v2", "num_experts_per_tok", set("num_experts_per_tok", 3)},
        {"deepseek-v2", "routed_scaling_factor", set("routed_scaling_factor", 2.0)},
        {"deepseek-v2-groups", "topk_method", set("topk_method", "greedy")},
        {"deepseek-v2-groups", "topk_group", set("topk_group", 3)},
        {"deepseek-v2-groups", "mscale", rope("mscale", 1.0)},
        {"deepseek-v2-groups", "mscale_all_dim", rope("mscale_all_dim", 1.0)},
        {"deepseek-v3", "norm_topk_prob", set("norm_topk_prob", false)},
        {"deepseek-v3", "topk_group", set("topk_group", 3)},
        {"deepseek-v3", "rope_interleave", set("rope_interleave", false)},
        {"deepseek-v3", "routed_scaling_factor", set("routed_scaling_factor", 1.0)},
    };
    for (const auto& [name, field, edit] : edits)
        EXPECT_GT((logits_with(name, edit) - logits_of(fixture(name))).abs().max().item<double>(), 1e-3) << name << " " << field;
}

/// The bias says who is chosen, and is in no weight.
TEST(Latent, TheCorrectionChoosesAndWeighsNothing) {
    const ScratchModel copy("deepseek-v3");
    copy.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        for (ScratchModel::Stored& t : tensors)
            if (t.name.ends_with("e_score_correction_bias"))
                for (std::int64_t i = 0; i < 6; ++i) t.set_float(i, i < 4 ? 50.0F : -50.0F);
    });
    const auto model = Model::load(copy.folder);
    const Collector seen = run_all(*model, some_text(model->config(), 24));
    const at::Tensor weights = seen.tensors.at("blocks.1.mlp.hook_experts"), router = seen.tensors.at("blocks.1.mlp.hook_router");
    EXPECT_EQ(weights.narrow(1, 4, 2).abs().max().item<float>(), 0) << "the last group is never chosen";
    EXPECT_TRUE(at::equal(weights.ne(0).sum(1), at::full({24}, 3, at::kLong)));
    const at::Tensor chosen = at::sigmoid(router) * weights.ne(0);
    const at::Tensor expected = chosen / chosen.sum(1, true) * 1.3;
    EXPECT_LE((weights - expected).abs().max().item<double>(), 1e-6);
}

/// Without a mask a part that was set to 0 would let a query see later keys.
TEST(Latent, AReplacedPartLeavesTheMaskAlone) {
    const auto model = Model::load(fixture("deepseek-v3"));
    const ForwardInput input = some_text(model->config(), 12);
    const Collector plain = run_all(*model, input);
    Collector changed;
    changed.replace = [](HookPoint p, at::Tensor t) {
        return p == HookPoint{Hook::content_scores, Layer(0)} ? at::zeros_like(t) : t;
    };
    forward(*model, input, changed, {}, {});
    const at::Tensor scores = changed.tensors.at("blocks.0.attn.hook_attn_scores"), legal = at::isfinite(scores);
    EXPECT_TRUE(at::equal(legal, at::isfinite(plain.tensors.at("blocks.0.attn.hook_attn_scores"))));
    const at::Tensor rotary = plain.tensors.at("blocks.0.attn.hook_rotary_scores");
    EXPECT_LE((scores.masked_select(legal) - rotary.masked_select(legal)).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(changed.tensors.at("blocks.0.attn.hook_pattern").triu(1).abs().max().item<float>(), 0);
}

TEST(Latent, WhatIsNotBuiltIsRefusedByName) {
    for (const char* name : {"deepseek-v2", "deepseek-v3"}) {
        EXPECT_THAT(config_failure(name, "attention_bias", true), HasSubstr("attention_bias"));
        EXPECT_THAT(config_failure(name, "moe_layer_freq", 2), HasSubstr("moe_layer_freq"));
        EXPECT_THAT(config_failure(name, "num_key_value_heads", 2), HasSubstr("num_key_value_heads"));
        EXPECT_THAT(config_failure(name, "scoring_func", "tanh"), HasSubstr("scoring_func"));
        EXPECT_THAT(config_failure(name, "topk_method", "best"), HasSubstr("topk_method"));
        EXPECT_THAT(config_failure(name, "first_k_dense_replace", 3), HasSubstr("first_k_dense_replace"));
        EXPECT_THAT(config_failure(name, "qk_rope_head_dim", 3), HasSubstr("rotat"));
    }
    EXPECT_THAT(config_failure("deepseek-v2", "norm_topk_prob", true), HasSubstr("norm_topk_prob"));
    EXPECT_THAT(config_failure("deepseek-v2-groups", "n_group", 4), testing::AllOf(HasSubstr("n_group"), HasSubstr("6")));
    EXPECT_THAT(config_failure("deepseek-v2-groups", "topk_group", 4), HasSubstr("topk_group"));
    EXPECT_THAT(config_failure("deepseek-v3", "num_experts_per_tok", 5), HasSubstr("num_experts_per_tok"));
    EXPECT_THAT(config_failure("deepseek-v3", "n_group", 6), HasSubstr("n_group"));
}

/// What V3's file holds for predicting further tokens is no part of the model.
TEST(Latent, LayersBehindTheLastAreLeftOut) {
    const ScratchModel copy("deepseek-v3");
    copy.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        auto extra = tensors.front();
        extra.name = "model.layers.3.eh_proj.weight";
        tensors.push_back(std::move(extra));
    });
    const auto model = Model::load(copy.folder);
    EXPECT_TRUE(model->report().unused.empty());
    EXPECT_THAT(model->report().ignored, testing::Contains("model.layers.3.eh_proj.weight"));
}

/// Fields as the released files have them (deepseek-ai/DeepSeek-V2-Lite and DeepSeek-V3, config.json).
TEST(Latent, TheReleasedConfigurationsAreRead) {
    const auto config_of = [](const char* name, const Edit& edit) {
        const ScratchModel copy(name);
        copy.edit_config([&](nlohmann::json& config) {
            config.erase("rope_parameters");
            config.erase("rope_interleave");
            config["ep_size"] = 1, config["seq_aux"] = true, config["moe_layer_freq"] = 1;
            edit(config);
        });
        return read_config(copy.folder);
    };
    const ModelConfig lite = config_of("deepseek-v2", [](nlohmann::json& c) {
        c.update({{"hidden_size", 2048},
                  {"num_hidden_layers", 27},
                  {"num_attention_heads", 16},
                  {"num_key_value_heads", 16},
                  {"kv_lora_rank", 512},
                  {"q_lora_rank", nullptr},
                  {"qk_nope_head_dim", 128},
                  {"qk_rope_head_dim", 64},
                  {"v_head_dim", 128},
                  {"n_group", 1},
                  {"topk_group", 1},
                  {"topk_method", "greedy"},
                  {"scoring_func", "softmax"},
                  {"n_routed_experts", 64},
                  {"n_shared_experts", 2},
                  {"num_experts_per_tok", 6},
                  {"moe_intermediate_size", 1408},
                  {"intermediate_size", 10944},
                  {"first_k_dense_replace", 1},
                  {"rope_theta", 10000},
                  {"max_position_embeddings", 163840}});
        c["rope_scaling"] = {{"beta_fast", 32}, {"beta_slow", 1},          {"factor", 40},
                             {"mscale", 0.707}, {"mscale_all_dim", 0.707}, {"original_max_position_embeddings", 4096},
                             {"type", "yarn"}};
    });
    EXPECT_EQ(lite.d_head, 192);
    EXPECT_EQ(lite.rope_dims, 64);
    EXPECT_EQ(value_width(lite), 128);
    EXPECT_EQ(lite.experts.shared_width, 2816);
    EXPECT_FALSE(has_experts(lite, 0));
    EXPECT_TRUE(has_experts(lite, 1));
    EXPECT_EQ(lite.rope.attention_factor, 1.0);
    const double stretched = 0.1 * 0.707 * std::log(40.0) + 1.0;
    EXPECT_NEAR(lite.score_scale, stretched * stretched / std::sqrt(192.0), 1e-12);

    const ModelConfig v3 = config_of("deepseek-v3", [](nlohmann::json& c) {
        c.update({{"hidden_size", 7168},
                  {"num_hidden_layers", 61},
                  {"num_attention_heads", 128},
                  {"num_key_value_heads", 128},
                  {"kv_lora_rank", 512},
                  {"q_lora_rank", 1536},
                  {"qk_nope_head_dim", 128},
                  {"qk_rope_head_dim", 64},
                  {"v_head_dim", 128},
                  {"n_group", 8},
                  {"topk_group", 4},
                  {"topk_method", "noaux_tc"},
                  {"scoring_func", "sigmoid"},
                  {"n_routed_experts", 256},
                  {"n_shared_experts", 1},
                  {"num_experts_per_tok", 8},
                  {"moe_intermediate_size", 2048},
                  {"intermediate_size", 18432},
                  {"first_k_dense_replace", 3},
                  {"norm_topk_prob", true},
                  {"routed_scaling_factor", 2.5},
                  {"num_nextn_predict_layers", 1}});
    });
    EXPECT_EQ(v3.latent.query_rank, 1536);
    EXPECT_EQ(v3.experts.groups, 8);
    EXPECT_EQ(v3.experts.groups_chosen, 4);
    EXPECT_TRUE(v3.rope_interleaved);
    EXPECT_EQ(layer_label(v3, 2), "dense MLP");
    EXPECT_EQ(layer_label(v3, 3), "experts");
}

}  // namespace deepseek_test
}  // namespace headlight::model
