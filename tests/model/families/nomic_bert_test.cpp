// SPDX-License-Identifier: GPL-3.0-or-later
// NomicBERT under the names of its authors' configuration, and what is refused.
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace nomic_bert_test {

/// config.json as the released nomic-embed-text models have it: GPT-2's fields.
void as_released(nlohmann::json& config) {
    const auto rename = [&](const char* from, const char* to) {
        config[to] = config.at(from);
        config.erase(from);
    };
    rename("hidden_size", "n_embd");
    rename("num_hidden_layers", "n_layer");
    rename("num_attention_heads", "n_head");
    rename("intermediate_size", "n_inner");
    rename("max_position_embeddings", "n_positions");
    rename("layer_norm_eps", "layer_norm_epsilon");
    config["rotary_emb_base"] = config.at("rope_parameters").at("rope_theta");
    config["activation_function"] = "swiglu";
    for (const char* gone : {"rope_parameters", "hidden_act", "head_dim"}) config.erase(gone);
    for (const char* off : {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved"})
        config[off] = false;
    config["rotary_emb_fraction"] = 1.0;
    config["rotary_scaling_factor"] = nullptr;
}

TEST(NomicBert, TheAuthorsConfigurationIsTheSameModel) {
    const ScratchModel copy("nomic-bert");
    copy.edit_config(as_released);
    const auto theirs = Model::load(fixture("nomic-bert")), ours = Model::load(copy.folder);
    const ForwardInput input = some_text(theirs->config(), 9);
    const Collector a = run_all(*theirs, input), b = run_all(*ours, input);
    EXPECT_TRUE(at::equal(a.tensors.at("logits"), b.tensors.at("logits")));
    EXPECT_TRUE(ours->report().unused.empty());
}

TEST(NomicBert, WhatIsNotBuiltIsRefusedByName) {
    const auto refusal = [](const char* field, const nlohmann::json& value) {
        return config_failure("nomic-bert", [&](nlohmann::json& config) {
            as_released(config);
            config[field] = value;
        });
    };
    EXPECT_THAT(refusal("prenorm", true), testing::HasSubstr("prenorm"));
    EXPECT_THAT(refusal("moe_every_n_layers", 2), testing::HasSubstr("moe_every_n_layers"));
    EXPECT_THAT(refusal("rotary_scaling_factor", 2), testing::HasSubstr("rotary_scaling_factor"));
    EXPECT_THAT(refusal("rotary_emb_fraction", 0.5), testing::HasSubstr("rotary_emb_fraction"));
    EXPECT_THAT(refusal("activation_function", "gelu"), testing::HasSubstr("activation_function"));
}

}  // namespace nomic_bert_test
}  // namespace headlight::model
