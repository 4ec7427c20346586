// SPDX-License-Identifier: GPL-3.0-or-later
// Folders whose config.json is of a larger model, or does not name a family, and experts that lie in one tensor.
#include "headlight/model/peek.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace named_config_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// The model in `folder`, equal to a fixture at every hook.
std::shared_ptr<const Model> same_as(const std::string& name, const std::filesystem::path& folder) {
    const auto model = Model::load(folder, {.device = "cpu"}), whole = Model::load(fixture(name), {.device = "cpu"});
    EXPECT_EQ(model->config().family, whole->config().family);
    const ForwardInput input = some_text(whole->config(), 12);
    expect_same_tensors(run_all(*model, input), run_all(*whole, input));
    return model;
}

struct Wrapper {
    const char *fixture, *type, *architecture, *text_type, *before;  ///< `before` stands in front of the names of the layers
};

class LanguageModelOf : public testing::TestWithParam<Wrapper> {};

TEST_P(LanguageModelOf, ComputesWhatItComputesAlone) {
    const Wrapper& w = GetParam();
    const ScratchModel folder(w.fixture);
    folder.edit_config([&](json& c) {
        json text = c;
        text.erase("architectures");
        text["model_type"] = w.text_type;
        if (std::string(w.text_type).ends_with("_vl_text")) text["rope_parameters"]["mrope_section"] = {1, 1, 1};
        c = {{"architectures", {w.architecture}},
             {"model_type", w.type},
             {"tie_word_embeddings", c.value("tie_word_embeddings", false)},
             {"text_config", text},
             {"vision_config", {{"hidden_size", 8}}}};
    });
    folder.edit_weights([&](StoredTensors& tensors) {
        for (auto& t : tensors)
            if (t.name.starts_with("model.")) t.name = w.before + t.name.substr(std::string_view("model.").size());
        tensors.push_back({"vision_tower.patch.weight", io::DType::F32, {1}, std::vector<std::byte>(4)});
    });
    const auto model = same_as(w.fixture, folder.folder);
    ASSERT_FALSE(model->report().notes.empty());
    EXPECT_THAT(model->report().notes.front(), AllOf(HasSubstr(w.architecture), HasSubstr(w.text_type)));
    EXPECT_TRUE(model->report().unused.empty()) << testing::PrintToString(model->report().unused);
    EXPECT_THAT(model->report().ignored, testing::Contains("vision_tower.patch.weight"));
    EXPECT_EQ(peek(folder.folder).problem, "");
}

INSTANTIATE_TEST_SUITE_P(
    Model, LanguageModelOf,
    testing::Values(
        Wrapper{"gemma3", "gemma3", "Gemma3ForConditionalGeneration", "gemma3_text", "language_model.model."},
        Wrapper{"qwen2", "qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl_text", "model.language_model."},
        Wrapper{"qwen3", "qwen3_vl", "Qwen3VLForConditionalGeneration", "qwen3_vl_text", "model.language_model."},
        Wrapper{"mistral", "mistral3", "Mistral3ForConditionalGeneration", "mistral", "language_model.model."},
        Wrapper{"llama-kv2", "llava", "LlavaForConditionalGeneration", "llama", "model.language_model."},
        Wrapper{"llama-mha", "smolvlm", "SmolVLMForConditionalGeneration", "llama", "model.text_model."},
        Wrapper{"qwen2", "qwen2_vl", "Qwen2VLForConditionalGeneration", "qwen2_vl_text", "model.language_model."},
        Wrapper{"qwen2", "internvl", "InternVLForConditionalGeneration", "qwen2", "language_model.model."},
        Wrapper{"qwen2", "llava_onevision", "LlavaOnevisionForConditionalGeneration", "qwen2", "model.language_model."},
        Wrapper{"mistral", "llava_next", "LlavaNextForConditionalGeneration", "mistral", "language_model.model."},
        Wrapper{"llama-mha", "idefics3", "Idefics3ForConditionalGeneration", "llama", "model.text_model."},
        Wrapper{"llama4", "llama4", "Llama4ForConditionalGeneration", "llama4_text", "language_model.model."},
        Wrapper{"gemma", "paligemma", "PaliGemmaForConditionalGeneration", "gemma", "model.language_model."}),
    [](const auto& each) { return std::string(each.param.architecture); });

TEST(NamedConfig, LeftOutFieldsOfALanguageModelAreThoseOfItsClass) {
    const ScratchModel folder("gemma3");
    folder.edit_config([](json& c) {
        c = {{"architectures", {"Gemma3ForConditionalGeneration"}},
             {"model_type", "gemma3"},
             {"text_config", {{"hidden_size", 2560}, {"num_hidden_layers", 34}, {"intermediate_size", 10240}}}};
    });
    const ModelConfig c = read_config(folder.folder);
    EXPECT_EQ(c.family, "gemma3");
    EXPECT_EQ(c.n_heads, 8);
    EXPECT_EQ(c.n_kv_heads, 4);
    EXPECT_EQ(c.d_head, 256);
    EXPECT_EQ(c.vocab_size, 262208);
}

TEST(NamedConfig, AClassWithoutAModelTypeIsOfTheFamilyThatItsNameBeginsLike) {
    const ScratchModel folder("qwen2");
    folder.edit_config([](json& c) {
        c["architectures"] = {"Qwen2ForProcessRewardModel"};
        c.erase("model_type");
    });
    EXPECT_THAT(same_as("qwen2", folder.folder)->report().notes,
                testing::ElementsAre(AllOf(HasSubstr("Qwen2ForProcessRewardModel"), HasSubstr("qwen2"))));
}

TEST(NamedConfig, TheHeadOfAyaVisionDoesNotScale) {
    const auto wrapped = [](json& c) {
        json text = c;
        text["model_type"] = "cohere2";
        c = {{"architectures", {"AyaVisionForConditionalGeneration"}}, {"model_type", "aya_vision"}, {"text_config", text}};
    };
    const ScratchModel folder("cohere2"), plain("cohere2");
    folder.edit_config(wrapped);
    plain.edit_config([](json& c) { c["logit_scale"] = 1.0; });
    const auto model = Model::load(folder.folder, {.device = "cpu"}), alone = Model::load(plain.folder, {.device = "cpu"});
    const ForwardInput input = some_text(alone->config(), 12);
    expect_same_tensors(run_all(*model, input), run_all(*alone, input));
}

TEST(NamedConfig, FrequenciesInAFileAreThoseOfTheRotation) {
    const ScratchModel stored("esm"), named("esm");
    named.edit_config([](json& c) { c["rope_theta"] = 16.0; });
    for (const ScratchModel* folder : {&stored, &named})
        folder->edit_weights([&](StoredTensors& tensors) {
            std::erase_if(tensors, [](const auto& t) { return t.name.ends_with("inv_freq"); });
            if (folder == &named) return;
            tensors.push_back({"esm.encoder.layer.0.attention.self.rotary_embeddings.inv_freq",
                               io::DType::F32,
                               {2},
                               std::vector<std::byte>(8)});
            tensors.back().set_float(0, 1.0F);  // 16^0, 16^(-1/2)
            tensors.back().set_float(1, 0.25F);
        });
    const auto model = Model::load(stored.folder, {.device = "cpu"}), expected = Model::load(named.folder, {.device = "cpu"});
    const ForwardInput input = some_text(expected->config(), 12);
    expect_same_tensors(run_all(*model, input), run_all(*expected, input));
    EXPECT_THAT(model->report().ignored, testing::Not(testing::Contains(HasSubstr("inv_freq"))));
}

TEST(NamedConfig, TheFactorOfPhi35MoeDependsOnTheLength) {
    const ScratchModel folder("phimoe");
    folder.edit_config([](json& c) { c["rope_parameters"]["long_mscale"] = 7.0; });
    const auto model = Model::load(folder.folder, {.device = "cpu"}), fixed = Model::load(fixture("phimoe"), {.device = "cpu"});
    const auto score = [](const Model& of, std::int64_t tokens) {
        return run_all(of, some_text(of.config(), tokens)).tensors.at("blocks.0.attn.hook_attn_scores");
    };
    EXPECT_TRUE(at::equal(score(*model, 8), score(*fixed, 8))) << "up to the original length: short_mscale";
    EXPECT_FALSE(at::equal(score(*model, 9), score(*fixed, 9))) << "beyond it: long_mscale";
}

void name_nothing(json& c) {
    c.erase("architectures");
    c.erase("model_type");
}

TEST(NamedConfig, TensorsNameTheFamilyThatAloneFitsThem) {
    for (const char* name : {"gpt2", "bloom", "mpnet"}) {
        const ScratchModel folder(name);
        folder.edit_config(name_nothing);
        EXPECT_THAT(same_as(name, folder.folder)->report().notes, testing::ElementsAre(HasSubstr("the tensors are those of")))
            << name;
    }
    const std::string several = config_failure("llama-mha", name_nothing);
    EXPECT_THAT(several, AllOf(HasSubstr("model_type"), HasSubstr("llama"), HasSubstr("mistral")));
}

TEST(NamedConfig, ARefusalNamesTheNearestByItsTensors) {
    const auto unknown = [](json& c) {
        c["architectures"] = {"ZebraForCausalLM"};
        c["model_type"] = "zebra";
    };
    EXPECT_THAT(config_failure("gpt2", unknown), AllOf(HasSubstr("ZebraForCausalLM"), HasSubstr("nearest to gpt2: ")));
    const std::string known = config_failure("qwen3", [](json& c) {
        c["architectures"] = {"Lfm2ForCausalLM"};
        c["model_type"] = "lfm2";
    });
    EXPECT_THAT(known, AllOf(HasSubstr("Lfm2ForCausalLM"), HasSubstr("state updates"), HasSubstr("nearest to qwen3: ")));
}

TEST(NamedConfig, ExpertsInOneTensorAreTheSameExperts) {
    const ScratchModel folder("qwen3-moe");
    folder.edit_weights([](StoredTensors& tensors) {
        std::map<std::string, ScratchModel::Stored> whole;
        StoredTensors others;
        std::int64_t count = 0;
        for (const auto& t : tensors) {
            const std::size_t at = t.name.find(".experts.");
            if (at == std::string::npos) {
                others.push_back(t);
                continue;
            }
            count = std::max<std::int64_t>(count, std::stoll(t.name.substr(at + 9)) + 1);
        }
        const auto take = [&](const std::string& name) { return find(tensors, name); };
        for (const std::string layer : {"0", "1"})
            for (const bool down : {false, true}) {
                const std::string at = "model.layers." + layer + ".mlp.experts.";
                ScratchModel::Stored all{at + (down ? "down_proj" : "gate_up_proj"), io::DType::F32, {count}, {}};
                for (std::int64_t e = 0; e < count; ++e)
                    for (const char* part :
                         down ? std::vector<const char*>{"down_proj"} : std::vector<const char*>{"gate_proj", "up_proj"}) {
                        const auto one = take(at + std::to_string(e) + "." + part + ".weight");
                        if (all.shape.size() == 1)
                            all.shape.insert(all.shape.end(), {one.shape[0] * (down ? 1 : 2), one.shape[1]});
                        all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
                    }
                others.push_back(std::move(all));
            }
        tensors = std::move(others);
    });
    const auto model = same_as("qwen3-moe", folder.folder);
    EXPECT_TRUE(model->report().unused.empty()) << testing::PrintToString(model->report().unused);
    EXPECT_TRUE(std::ranges::any_of(model->report().loaded,
                                    [](const auto& one) { return one.tensor == "model.layers.0.mlp.experts.gate_up_proj"; }));
}

}  // namespace named_config_test
}  // namespace headlight::model
