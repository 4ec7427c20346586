// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints as they are published: without a head or a zero bias, under a relative's class, with values that transformers
// ignores. What their tensors compute is what the fixtures compute.
#include "headlight/model/locate.h"
#include "model/internals.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace headlight::model {
namespace released_checkpoints_test {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// The hooks of `found` are those of the fixture, as far as it has them.
void expect_hooks_of(const std::string& name, const std::filesystem::path& found) {
    const auto model = Model::load(found, {.device = "cpu"}), whole = Model::load(fixture(name), {.device = "cpu"});
    const ForwardInput input = some_text(whole->config(), 12);
    const Collector own = run_all(*model, input);
    Collector expected = run_all(*whole, input);
    std::erase_if(expected.tensors, [&](const auto& each) { return !own.tensors.contains(each.first); });
    EXPECT_GT(own.tensors.size(), 10u);
    expect_same_tensors(own, expected);
}

const std::string kPairs = "../encoder_decoders/";

struct WithoutHead {
    const char *fixture, *architecture;
    std::vector<std::string> tensors;  ///< that such a checkpoint does not have
};

class NoLanguageHead : public testing::TestWithParam<WithoutHead> {};

TEST_P(NoLanguageHead, OpensAndEncodesAndDecodes) {
    const ScratchModel folder(kPairs + GetParam().fixture);
    folder.edit_config([](json& c) { c["architectures"] = {GetParam().architecture}; });
    folder.edit_weights([](StoredTensors& tensors) {
        for (const std::string& name : GetParam().tensors) std::erase_if(tensors, [&](const auto& t) { return t.name == name; });
        for (auto& t : tensors)  // saved as the base model: without the prefix
            if (t.name.starts_with("model.")) t.name = t.name.substr(6);
    });
    const auto model = Model::load(folder.folder, {.device = "cpu"});
    const auto whole = Model::load(fixture(kPairs + GetParam().fixture), {.device = "cpu"});
    EXPECT_FALSE(model->config().has_unembedding);
    EXPECT_TRUE(model->report().unused.empty()) << testing::PrintToString(model->report().unused);
    const auto run = [](const Model& m) {
        Collector encoder, decoder;
        const at::Tensor states = encode(*m.part(Stack::encoder), {{5, 6, 7, 8}, {}}, encoder, {}, {});
        forward(m, {{2, 9, 10}, {}, states}, decoder, {}, {});
        return decoder;
    };
    const Collector own = run(*model);
    Collector expected = run(*whole);
    EXPECT_FALSE(own.tensors.contains("logits"));
    expected.tensors.erase("logits");
    expect_same_tensors(own, expected);
}

INSTANTIATE_TEST_SUITE_P(Model, NoLanguageHead,
                         testing::Values(WithoutHead{"bart", "BartModel", {"final_logits_bias", "lm_head.weight"}},
                                         WithoutHead{"mbart", "MBartModel", {"final_logits_bias", "lm_head.weight"}},
                                         WithoutHead{"t5", "T5Model", {"lm_head.weight"}}),
                         [](const auto& each) { return std::string(each.param.architecture); });

TEST(ReleasedCheckpoints, AWholeBartWithoutItsZeroBiasHasLogits) {
    const ScratchModel folder(kPairs + "bart");
    std::vector<float> bias;
    folder.edit_weights(
        [&](StoredTensors& tensors) { std::erase_if(tensors, [](const auto& t) { return t.name == "final_logits_bias"; }); });
    const auto model = Model::load(folder.folder, {.device = "cpu"});
    EXPECT_TRUE(model->config().has_unembedding);
    EXPECT_FALSE(model->internals().unembed.bias.defined());
}

TEST(ReleasedCheckpoints, AnEmbeddingOfOneStackIsThatOfBoth) {
    for (const char* stack : {"encoder", "decoder"})
        for (const char* name : {"t5", "bart"}) {
            const ScratchModel folder(kPairs + name);
            folder.edit_weights([&](StoredTensors& tensors) {
                auto& shared = find(tensors, "shared.weight");
                const std::string prefix = shared.name.substr(0, shared.name.size() - 13);
                shared.name = prefix + stack + ".embed_tokens.weight";
            });
            const auto model = Model::load(folder.folder, {.device = "cpu"});
            const auto whole = Model::load(fixture(kPairs + name), {.device = "cpu"});
            EXPECT_TRUE(at::equal(model->internals().embed, whole->internals().embed)) << name << " " << stack;
            EXPECT_TRUE(model->part(Stack::encoder)->internals().embed.is_same(model->internals().embed)) << "read once";
        }
}

struct Renamed {
    const char *fixture, *architecture, *type;
    bool base;  ///< without the masked-word head
};

class UnderAnotherName : public testing::TestWithParam<Renamed> {};

TEST_P(UnderAnotherName, ComputesTheSame) {
    const ScratchModel folder(GetParam().fixture);
    folder.edit_config([](json& c) {
        c["architectures"] = {GetParam().architecture};
        c["model_type"] = GetParam().type;
    });
    if (GetParam().base)
        folder.edit_weights(
            [](StoredTensors& tensors) { std::erase_if(tensors, [](const auto& t) { return t.name.starts_with("lm_head."); }); });
    expect_hooks_of(GetParam().fixture, folder.folder);
}

INSTANTIATE_TEST_SUITE_P(Model, UnderAnotherName,
                         testing::Values(Renamed{"roberta", "XLMRobertaModel", "xlm-roberta", true},
                                         Renamed{"roberta", "CamembertForMaskedLM", "camembert", false},
                                         Renamed{"roberta", "CamembertModel", "camembert", true},
                                         Renamed{"mistral", "Ministral3ForCausalLM", "ministral3", false}),
                         [](const auto& each) { return std::string(each.param.architecture); });

TEST(ReleasedCheckpoints, WhatTransformersIgnoresChangesNothing) {
    const ScratchModel gemma("gemma3");
    gemma.edit_config([](json& c) { c["attn_logit_softcapping"] = 0.5; });
    expect_hooks_of("gemma3", gemma.folder);
    const ScratchModel llama("llama-mha");
    llama.edit_config([](json& c) {
        c["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}, {"partial_rotary_factor", 0.5}};
    });
    EXPECT_EQ(Model::load(llama.folder)->config().rope_dims, Model::load(fixture("llama-mha"))->config().rope_dims);
}

TEST(ReleasedCheckpoints, AZeroTemperatureOfYarnIsNone) {
    const auto factor = [](const json& fields) {
        const ScratchModel folder("llama-yarn");
        folder.edit_config([&](json& c) {
            for (const char* field : {"attention_factor", "mscale", "mscale_all_dim"}) c["rope_parameters"].erase(field);
            c["rope_parameters"].update(fields);
        });
        return Model::load(folder.folder)->config().rope.attention_factor;
    };
    EXPECT_EQ(factor({{"mscale", 1.0}, {"mscale_all_dim", 0.0}}), factor(json::object()));
    EXPECT_NE(factor({{"mscale", 1.0}, {"mscale_all_dim", 0.5}}), factor(json::object()));
}

TEST(ReleasedCheckpoints, NumbersAsPythonWritesThem) {
    const ScratchModel folder("gpt2");
    const auto write = [&](const std::string& field) {
        json config = json::parse(std::ifstream(fixture("gpt2") / "config.json"));
        std::string text = config.dump();
        std::ofstream(folder.folder / "config.json") << text.replace(0, 1, "{" + field + ", ");
    };
    write(R"("task_specific_params": {"limit": Infinity, "none": NaN, "least": [-Infinity], "say": "NaN, \" Infinity"})");
    EXPECT_EQ(failure(folder.folder), "loaded");
    write(R"("n_ctx": Infinit)");
    EXPECT_THAT(failure(folder.folder), HasSubstr("Broken JSON"));
    std::ofstream(folder.folder / "config.json") << R"({"model_type": "gpt2", "n_layer": Infinity})";
    EXPECT_THAT(failure(folder.folder), HasSubstr("n_layer"));
}

TEST(ReleasedCheckpoints, SuggestionsAreModelsOfTheSameKind) {
    const auto message = [](const char* architecture, const char* type, const json& more = json::object()) {
        return config_failure("gpt2", [&](json& c) {
            c = {{"architectures", {architecture}}, {"model_type", type}};
            c.update(more);
        });
    };
    EXPECT_THAT(message("Gemma9ForConditionalGeneration", "gemma9", {{"text_config", {{"model_type", "gemma9_text"}}}}),
                AllOf(HasSubstr("Gemma3ForCausalLM"), HasSubstr("gemma9_text"), Not(HasSubstr("such as T5"))));
    EXPECT_THAT(message("Olmo9ForCausalLM", "olmo9"), HasSubstr("Olmo2ForCausalLM"));
    EXPECT_THAT(message("LlamaForCasualLM", "lama"), HasSubstr("such as LlamaForCausalLM"));
    EXPECT_THAT(message("Dinov2Model", "dinov2"), Not(HasSubstr("such as")));
    EXPECT_THAT(message("LlavaForConditionalGeneration", "llava"), Not(HasSubstr("such as")));
}

TEST(ReleasedCheckpoints, FilesThatAreSomethingElseSaySo) {
    const ScratchModel folder("gpt2");
    const auto weights = folder.folder / "model.safetensors";
    std::ofstream(weights) << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
    EXPECT_THAT(failure(folder.folder), AllOf(HasSubstr("Git LFS"), HasSubstr("model.safetensors"), HasSubstr("git lfs pull")));
    std::ofstream(weights) << "\n<!DOCTYPE html>\n<html>";
    EXPECT_THAT(failure(folder.folder), HasSubstr("web page"));
    std::ofstream(folder.folder / "m.gguf") << "version https://git-lfs.github.com/spec/v1\noid";
    EXPECT_THAT(failure(folder.folder / "m.gguf"), HasSubstr("Git LFS"));
    std::filesystem::rename(weights, folder.folder / "model-00001-of-00002.safetensors");
    std::filesystem::remove(folder.folder / "m.gguf");
    EXPECT_THAT(failure(folder.folder), AllOf(HasSubstr("without their index"), HasSubstr("model-00001-of-00002.safetensors")));
    std::ofstream(folder.folder / "config.json") << "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n";
    EXPECT_THAT(failure(folder.folder), AllOf(HasSubstr("Git LFS"), HasSubstr("config.json")));
}

TEST(ReleasedCheckpoints, FoldersThatAreSomethingElseSaySo) {
    const test::TempFolder adapter;
    adapter.write("adapter_config.json", R"({"base_model_name_or_path": "org/base", "peft_type": "LORA"})");
    adapter.write("adapter_model.safetensors", "");
    EXPECT_THAT(failure(adapter.path()), AllOf(HasSubstr("adapter"), HasSubstr("org/base"), HasSubstr("merge_and_unload")));
    const test::TempFolder pipeline;
    pipeline.write("modules.json", R"([{"idx": 0, "path": "0_Transformer"}, {"idx": 1, "path": "1_Pooling"}])");
    pipeline.write("0_Transformer/config.json", "{}");
    EXPECT_EQ(locate_model(pipeline.path().string()), pipeline.path() / "0_Transformer");
    pipeline.write("modules.json", R"([{"path": "../0_Transformer"}])");
    EXPECT_EQ(locate_model(pipeline.path().string()), pipeline.path()) << "only folders inside";
    const auto array = adapter.write("attention.npy", "x");
    EXPECT_THAT(test::error_of([&] { locate_model(array.string()); }), AllOf(HasSubstr("tokens"), HasSubstr(".npz")));
}

}  // namespace released_checkpoints_test
}  // namespace headlight::model
