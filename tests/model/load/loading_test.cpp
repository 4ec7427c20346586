// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/model/model.h"
#include "model/arithmetic/device.h"
#include "model/internals.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace headlight::model {
namespace loading_test {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;

std::string bad_config(const std::string& name, const std::function<void(json&)>& edit) {
    const std::string message = config_failure(name, edit);
    EXPECT_THAT(message, HasSubstr("config.json"));
    return message;
}

struct BadField {
    const char* name;
    const char* fixture;
    const char* field;
    json value;
    const char* found;  ///< must be in the message, with the field
};

class BadConfig : public testing::TestWithParam<BadField> {};

TEST_P(BadConfig, NamesTheField) {
    const BadField& bad = GetParam();
    const std::string message = bad_config(bad.fixture, [&](json& c) {
        if (bad.value.is_discarded())
            c.erase(bad.field);
        else
            c[bad.field] = bad.value;
    });
    EXPECT_THAT(message, AllOf(HasSubstr(bad.field), HasSubstr(bad.found)));
}

const json kErased = json(json::value_t::discarded);
INSTANTIATE_TEST_SUITE_P(
    Fields, BadConfig,
    testing::Values(
        BadField{"Missing", "bloom", "hidden_size", kErased, "no such field"},
        BadField{"Text", "bloom", "hidden_size", "sixteen", "sixteen"}, BadField{"Fraction", "bloom", "n_layer", 2.5, "2.5"},
        BadField{"Negative", "gpt2", "n_layer", -1, "-1"}, BadField{"Zero", "gpt2", "n_head", 0, "found 0"},
        BadField{"ManyLayers", "llama-mha", "num_hidden_layers", 1000000000, "1000000000"},
        BadField{"PastInt64", "llama-mha", "hidden_size", 18446744073709551615u, "18446744073709551615"},
        BadField{"HeadsDoNotDivide", "bloom", "n_head", 3, "found 3"},
        BadField{"BertHeadsDoNotDivide", "bert", "num_attention_heads", 5, "found 5"},
        BadField{"KvHeadsDoNotDivide", "llama-kv2", "num_key_value_heads", 3, "found 3"},
        BadField{"OddRotation", "llama-kv2", "head_dim", 5, "found 5"},
        BadField{"EpsilonText", "gpt2", "layer_norm_epsilon", "small", "small"},
        BadField{"EpsilonZero", "gpt2", "layer_norm_epsilon", 0, "found 0"},
        BadField{"FlagNumber", "bloom", "tie_word_embeddings", 1, "true or false"},
        BadField{"Activation", "gpt2", "activation_function", "mish", "mish"},
        BadField{"CrossAttention", "gpt2", "add_cross_attention", true, "found true"},
        BadField{"Decoder", "bert", "is_decoder", true, "found true"},
        BadField{"RelativePositions", "bert", "position_embedding_type", "rotary", "found \"rotary\""},
        BadField{"RopeScaling", "llama-mha", "rope_parameters", json{{"rope_type", "spiral"}, {"factor", 2.0}}, "spiral"},
        BadField{"YarnWithoutFactor", "llama-mha", "rope_parameters", json{{"rope_type", "yarn"}, {"factor", "much"}}, "factor"},
        BadField{"LongropeFactors", "phi3", "rope_parameters",
                 json{{"rope_type", "longrope"}, {"short_factor", {1.0}}, {"long_factor", {1.0}}}, "short_factor"},
        BadField{"LayerTypes", "gemma3", "layer_types", json{"full_attention", "chunked_attention", "full_attention"},
                 "chunked_attention"},
        BadField{"LayerTypesCount", "gemma3", "layer_types", json{"full_attention"}, "3 names"},
        BadField{"BothWays", "gemma", "use_bidirectional_attention", true, "use_bidirectional_attention"},
        BadField{"QkLayerNorm", "phi", "qk_layernorm", true, "qk_layernorm"},
        BadField{"LinearWithoutFactor", "llama-mha", "rope_parameters", json{{"rope_type", "linear"}}, "factor"},
        BadField{"RopeText", "llama-mha", "rope_parameters", "linear", "an object"},
        BadField{"Architectures", "bloom", "architectures", "BloomForCausalLM", "a list"}),
    [](const auto& one) { return one.param.name; });

TEST(Loading, UnknownArchitectureNamesTheNearestAndHowToAddOne) {
    const auto of = [](const char* architecture, const char* type) {
        return bad_config("bloom", [&](json& c) {
            c["architectures"] = {architecture};
            c["model_type"] = type;
        });
    };
    EXPECT_THAT(of("Gemma9ForCausalLM", "gemma9"),
                AllOf(HasSubstr("Gemma9ForCausalLM"), HasSubstr("GemmaForCausalLM, Gemma2ForCausalLM, Gemma3ForCausalLM"),
                      HasSubstr("docs/adding-a-family.md")));
    const std::string far = of("ZebraForCausalLM", "zebra");
    for (const std::string& family : family_names()) EXPECT_THAT(far, HasSubstr(family));
}

TEST(Loading, ConfigThatIsNoConfig) {
    const ScratchModel model("bloom");
    std::ofstream(model.folder / "config.json") << "[1, 2]";
    EXPECT_THAT(failure(model.folder), AllOf(HasSubstr("config.json"), HasSubstr("object")));
    std::ofstream(model.folder / "config.json") << "{\"n_layer\": ";
    EXPECT_THAT(failure(model.folder), HasSubstr("config.json"));
    std::filesystem::remove(model.folder / "config.json");
    EXPECT_THAT(failure(model.folder), HasSubstr("config.json"));
    EXPECT_THAT(failure(model.folder / "nowhere"), HasSubstr("nowhere"));
}

TEST(Loading, EveryMissingTensorIsListed) {
    const ScratchModel model("bloom");
    model.edit_weights([](auto& tensors) {
        std::erase_if(
            tensors, [](const auto& t) { return t.name.ends_with("ln_f.bias") || t.name.ends_with("0.mlp.dense_h_to_4h.bias"); });
    });
    EXPECT_THAT(failure(model.folder),
                AllOf(HasSubstr("2 tensors"), HasSubstr("transformer.ln_f.bias"),
                      HasSubstr("transformer.h.0.mlp.dense_h_to_4h.bias"), HasSubstr(model.folder.string())));
}

TEST(Loading, AWholeLanguageModelNeedsItsHead) {
    const ScratchModel model("gpt2-untied");
    model.edit_weights([](auto& tensors) { std::erase_if(tensors, [](const auto& t) { return t.name == "lm_head.weight"; }); });
    EXPECT_THAT(failure(model.folder), HasSubstr("lm_head.weight"));
    model.edit_config([](json& c) { c["architectures"] = {"GPT2Model"}; });
    const auto base = Model::load(model.folder);
    EXPECT_FALSE(base->config().has_unembedding);
    EXPECT_THAT(base->report().optional_missing, Contains("language model head"));
}

/// What transformers does with a config.json that says "tied" (or nothing) and files that say otherwise.
TEST(Loading, AnUnembeddingOfItsOwnIsUsedWhateverTheConfigSays) {
    const ScratchModel folder("gpt2");
    const auto add_head = [](float change) {
        return [change](auto& tensors) {
            std::erase_if(tensors, [](const auto& t) { return t.name == "lm_head.weight"; });
            auto head = find(tensors, "transformer.wte.weight");
            head.name = "lm_head.weight";
            if (change != 0) head.set_float(5 * head.shape[1], change);
            tensors.push_back(head);
        };
    };
    folder.edit_weights(add_head(0));
    EXPECT_TRUE(Model::load(folder.folder)->config().tied_unembedding) << "an equal copy is ignored";
    folder.edit_weights(add_head(7.5F));
    const auto model = Model::load(folder.folder);
    EXPECT_FALSE(model->config().tied_unembedding);
    const ForwardInput text = some_text(model->config(), 6);
    const Collector tied = run_all(*Model::load(fixture("gpt2")), text), own = run_all(*model, text);
    const at::Tensor change = (own.tensors.at("logits") - tied.tensors.at("logits")).abs().amax(0);
    EXPECT_GT(change[5].item<float>(), 1.0F);  // the row that differs, and no other
    EXPECT_LT((change.sum() - change[5]).item<float>(), 1e-3F);
}

TEST(Loading, TheTiedMatrixMayHaveTheNameOfEither) {
    const ScratchModel folder("gpt2");
    folder.edit_weights([](auto& tensors) { find(tensors, "transformer.wte.weight").name = "lm_head.weight"; });
    const auto model = Model::load(folder.folder);
    EXPECT_TRUE(model->config().tied_unembedding);
    EXPECT_TRUE(at::equal(model->internals().embed, Model::load(fixture("gpt2"))->internals().embed));
}

TEST(Loading, AnUntiedMaskedWordHeadAddsTheBiasOfItsDecoder) {
    const ScratchModel folder("bert-mlm");
    folder.edit_weights([](auto& tensors) {
        auto weight = find(tensors, "bert.embeddings.word_embeddings.weight");
        weight.name = "cls.predictions.decoder.weight";
        weight.set_float(0, 3.0F);
        auto bias = find(tensors, "cls.predictions.bias");
        bias.name = "cls.predictions.decoder.bias";
        bias.set_float(1, 4.0F);
        tensors.push_back(weight);
        tensors.push_back(bias);
    });
    const auto model = Model::load(folder.folder);
    EXPECT_FALSE(model->config().tied_unembedding);
    EXPECT_EQ(model->internals().unembed.weight[0][0].item<float>(), 3.0F);
    EXPECT_EQ(model->internals().unembed.bias[1].item<float>(), 4.0F);
    EXPECT_THAT(model->report().ignored, Contains("cls.predictions.bias"));
    EXPECT_TRUE(model->report().unused.empty());
}

TEST(Loading, AModelOfTheHuggingFaceCacheIsCalledByItsName) {
    const ScratchModel scratch("gpt2");
    const auto snapshot = scratch.folder / "models--org--tiny-v2" / "snapshots" / "0a1b2c";
    std::filesystem::create_directories(snapshot);
    for (const char* file : {"config.json", "model.safetensors"})
        std::filesystem::copy_file(scratch.folder / file, snapshot / file);
    EXPECT_EQ(Model::load(snapshot)->config().name, "tiny-v2");
    EXPECT_EQ(Model::load(scratch.folder)->config().name, scratch.folder.filename().string());
}

TEST(Loading, HalfAMaskedWordHeadIsAnError) {
    const ScratchModel model("bert-mlm");
    model.edit_config([](json& c) { c["architectures"] = {"BertModel"}; });
    // The shards as one file without the head's bias.
    model.edit_weights(
        [](auto& tensors) { std::erase_if(tensors, [](const auto& t) { return t.name == "cls.predictions.bias"; }); });
    std::filesystem::remove(model.folder / "model.safetensors.index.json");
    EXPECT_THAT(failure(model.folder), HasSubstr("cls.predictions.bias"));
}

TEST(Loading, WrongShapeSaysExpectedAndFound) {
    const ScratchModel model("gpt2");
    model.edit_config([](json& c) { c["n_positions"] = 41; });
    EXPECT_THAT(failure(model.folder), AllOf(HasSubstr("transformer.wpe.weight"), HasSubstr("[41, 16]"), HasSubstr("[40, 16]"),
                                             HasSubstr("model.safetensors")));
}

TEST(Loading, NanAndInfAreFoundWhereTheyAre) {
    const ScratchModel model("gpt2");
    const auto put = [&](float value) {
        model.edit_weights([&](auto& tensors) {
            auto& t = find(tensors, "transformer.h.1.mlp.c_fc.weight");
            t.set_float(3 * t.shape[1] + 5, value);
        });
    };
    put(std::numeric_limits<float>::quiet_NaN());
    EXPECT_THAT(failure(model.folder),
                AllOf(HasSubstr("transformer.h.1.mlp.c_fc.weight"), HasSubstr("[3, 5]"), HasSubstr("NaN")));
    put(-std::numeric_limits<float>::infinity());
    EXPECT_THAT(failure(model.folder), AllOf(HasSubstr("[3, 5]"), HasSubstr("Inf")));
    put(std::numeric_limits<float>::max());
    EXPECT_EQ(failure(model.folder), "loaded");
}

TEST(Loading, NanInHalfPrecision) {
    const ScratchModel model("bloom-h6");
    model.edit_weights([](auto& tensors) { find(tensors, "transformer.ln_f.bias").bytes[7 * 2 + 1] = std::byte{0x7e}; });
    EXPECT_THAT(failure(model.folder), AllOf(HasSubstr("transformer.ln_f.bias"), HasSubstr("[7]"), HasSubstr("NaN")));
}

TEST(Loading, WholeNumbersAreNoWeights) {
    const ScratchModel model("gpt2");
    model.edit_weights([](auto& tensors) { find(tensors, "transformer.ln_f.bias").dtype = io::DType::I32; });
    EXPECT_THAT(failure(model.folder), AllOf(HasSubstr("transformer.ln_f.bias"), HasSubstr("I32")));
}

TEST(Loading, ReportTellsWhatBecameOfEveryTensor) {
    const ScratchModel model("gpt2");
    model.edit_weights([](auto& tensors) {
        auto extra = tensors.front();
        extra.name = "something.else";
        tensors.push_back(extra);
        extra.name = "transformer.h.0.attn.masked_bias";
        tensors.push_back(extra);
    });
    const auto loaded = Model::load(model.folder, {.device = "cpu"});
    const LoadReport& report = loaded->report();
    EXPECT_EQ(report.unused, std::vector<std::string>{"something.else"});
    EXPECT_EQ(report.ignored, std::vector<std::string>{"transformer.h.0.attn.masked_bias"});
    EXPECT_EQ(report.bytes_copied, 0) << "float32 weights are used where they lie in the file";
    EXPECT_GT(report.bytes_mapped, 0);
    const auto it = std::ranges::find(report.loaded, "blocks.1.mlp.W_in", &LoadedParameter::parameter);
    ASSERT_NE(it, report.loaded.end());
    EXPECT_EQ(it->tensor, "transformer.h.1.mlp.c_fc.weight");
    EXPECT_EQ(it->shape, (std::vector<std::int64_t>{16, 64}));
    EXPECT_EQ(it->stored_dtype, "F32");
    EXPECT_TRUE(it->mapped);
    EXPECT_THAT(it->file, EndsWith("model.safetensors"));
}

TEST(Loading, UnalignedTensorsAreCopiedAndGiveTheSameNumbers) {
    const ScratchModel model("gpt2");
    const auto before = Model::load(fixture("gpt2"));
    std::string bytes = test::slurp(model.folder / "model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    bytes.insert(8 + length, " ");  // one more byte of header: every tensor now lies off its alignment
    ++length;
    std::memcpy(bytes.data(), &length, 8);
    std::ofstream(model.folder / "model.safetensors", std::ios::binary) << bytes;
    const auto shifted = Model::load(model.folder);
    EXPECT_EQ(shifted->report().bytes_mapped, 0);
    EXPECT_TRUE(at::equal(shifted->internals().layers[1].mlp_in.weight, before->internals().layers[1].mlp_in.weight));
}

TEST(Loading, CountsEveryParameterOnce) {
    const auto model = Model::load(fixture("bloom"));
    std::int64_t stored = 0;
    const auto store = io::TensorStore::open_folder(fixture("bloom"));
    for (const auto& [name, view] : store.tensors()) stored += view.numel();
    EXPECT_EQ(counted_parameters(*model), stored);
}

TEST(Loading, HashFollowsTheContent) {
    const ScratchModel model("gpt2");
    const std::string first = Model::load(model.folder)->hash();
    EXPECT_EQ(first.size(), 64u);
    EXPECT_EQ(first, Model::load(fixture("gpt2"))->hash()) << "the same files elsewhere are the same model";
    model.edit_weights([](auto& tensors) { tensors.back().set_float(0, 1.25f); });
    EXPECT_NE(first, Model::load(model.folder)->hash());
}

TEST(Loading, CancelledBeforeItIsDone) {
    const CancelToken cancel;
    cancel.cancel();
    EXPECT_THROW(Model::load(fixture("gpt2"), {}, cancel), Cancelled);
}

TEST(Loading, DevicesThatAreNotThere) {
    EXPECT_THAT(failure(fixture("gpt2"), {.device = "abacus"}), AllOf(HasSubstr("abacus"), HasSubstr("auto, cpu or cuda")));
    if (!at::hasCUDA()) {
        EXPECT_THAT(failure(fixture("gpt2"), {.device = "cuda"}), HasSubstr("without CUDA"));
    }
    EXPECT_EQ(Model::load(fixture("gpt2"), {.device = "cpu"})->device_name(), "CPU");
}

TEST(Loading, WeightsThatDoNotFitOnAGpuAreOpenedOnTheCpuUnlessItWasAskedFor) {
    const at::Device gpu(at::kCUDA, 0);
    constexpr std::int64_t kGigabyte = 1'000'000'000;
    EXPECT_EQ(device_with_room(gpu, "auto", 6 * kGigabyte, 8 * kGigabyte).device, gpu);
    EXPECT_EQ(device_with_room(gpu, "auto", 6 * kGigabyte, 8 * kGigabyte).why_cpu, "");
    EXPECT_EQ(device_with_room(gpu, "cuda", 6 * kGigabyte, 8 * kGigabyte).device, gpu);
    const Placement instead = device_with_room(gpu, "auto", 28 * kGigabyte, 8 * kGigabyte);
    EXPECT_EQ(instead.device, at::Device(at::kCPU));
    EXPECT_THAT(instead.why_cpu, AllOf(HasSubstr("28.0 GB"), HasSubstr("room for 6.0 GB")));
    EXPECT_EQ(device_with_room(gpu, "auto", 6 * kGigabyte + 1, 8 * kGigabyte).device, at::Device(at::kCPU));
    EXPECT_EQ(device_with_room(at::kCPU, "auto", 6 * kGigabyte, 0).device, at::Device(at::kCPU));
    try {
        device_with_room(gpu, "cuda", 12 * kGigabyte, 8 * kGigabyte);
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("device cuda"), HasSubstr("at most 6.0 GB"), HasSubstr("12.0 GB")));
    }
    EXPECT_EQ(free_memory(at::kCPU), std::numeric_limits<std::int64_t>::max());
}

/// Hand-made weights in which every number tells where it is: heads of two, so that thirds and interleaving differ.
TEST(QkvLayouts, ThirdsAndPerHeadAreToldApart) {
    Model::Internals m;
    m.config.n_heads = 2;
    m.config.d_head = 2;
    m.layers.resize(1);
    m.layers[0].qkv.weight = at::arange(12, at::kFloat).view({1, 12});
    m.qkv_layout = QkvLayout::thirds;
    EXPECT_TRUE(at::equal(qkv_part(m, Layer(0), QkvPart::k).weight, at::tensor({4.f, 5.f, 6.f, 7.f}).view({1, 4})));
    m.qkv_layout = QkvLayout::per_head;
    EXPECT_TRUE(at::equal(qkv_part(m, Layer(0), QkvPart::k).weight, at::tensor({2.f, 3.f, 8.f, 9.f}).view({1, 4})));
}

TEST(Alibi, SlopesOfPowersOfTwoAndOthers) {
    const auto slopes = [](std::int64_t n) {
        const at::Tensor t = alibi_slopes(n);
        return std::vector<double>(t.data_ptr<double>(), t.data_ptr<double>() + n);
    };
    for (std::int64_t h = 0; h < 8; ++h)
        EXPECT_DOUBLE_EQ(slopes(8)[static_cast<std::size_t>(h)], std::exp2(-1.0 - static_cast<double>(h)));
    const auto twelve = slopes(12);
    EXPECT_NEAR(twelve[8], 0.70710678, 1e-8);
    EXPECT_NEAR(twelve[11], 0.08838835, 1e-8);
    const auto many = slopes(112);
    EXPECT_NEAR(many[0], 0.91700404, 1e-8);
    EXPECT_NEAR(many[63], 0.00390625, 1e-10);
    EXPECT_NEAR(many[64], 0.95760328, 1e-8);
    EXPECT_NEAR(many[111], 0.01631678, 1e-8);
}

/// Against transformers' build_alibi_tensor of Falcon, times 1/sqrt(d_head): beyond 256 the positions are rounded too.
TEST(Alibi, FalconRoundsSlopePositionAndProduct) {
    ModelConfig c;
    c.alibi = Alibi::falcon;
    c.score_scale = 0.5;
    const auto bias = [&](std::int64_t heads, std::int64_t head, std::int64_t key) {
        c.n_heads = heads;
        return alibi_bias(c, 1002)[head][key].item<double>();
    };
    EXPECT_EQ(bias(12, 11, 1), 0.5 * 0.08837890625);
    EXPECT_EQ(bias(12, 11, 100), 0.5 * 8.8125);
    EXPECT_EQ(bias(12, 0, 257), 0.5 * 128.0);
    EXPECT_EQ(bias(12, 11, 257), 0.5 * 22.625);
    EXPECT_EQ(bias(32, 0, 255), 0.5 * 214.0);
    EXPECT_EQ(bias(32, 17, 257), 0.5 * 11.3125);
    EXPECT_EQ(bias(32, 17, 1001), 0.5 * 44.25);
}

/// OPT-350M: the products of the embedding with its two projections count as what the file holds.
TEST(Loading, FactoredEmbeddingsCountAsStored) {
    const auto model = Model::load(fixture("opt-post-norm"));
    EXPECT_EQ(counted_parameters(*model), stored_parameters(*model));
}

}  // namespace loading_test
}  // namespace headlight::model
