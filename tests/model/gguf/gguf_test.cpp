// SPDX-License-Identifier: GPL-3.0-or-later
// The fixtures as llama.cpp's converter writes them (tests/golden/make_gguf_golden.py) are the very same models.
#include "headlight/io/gguf.h"
#include "headlight/base/error.h"
#include "headlight/model/locate.h"
#include "headlight/model/peek.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"
#include "tests/support/case_name.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace headlight::model {
namespace gguf_test {

using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path gguf(const std::string& name) { return tests_folder() / "fixtures" / "gguf" / (name + ".gguf"); }

class GgufModel : public testing::TestWithParam<const char*> {};

/// What the fixture has otherwise than GGUF's metadata can say, in the words of its config.json.
nlohmann::json said_otherwise(const std::string& name) {
    if (name == "qwen2") return {{"use_sliding_window", false}, {"layer_types", {"full_attention", "full_attention"}}};
    if (name == "gemma2") return {{"query_pre_attn_scalar", 6}};
    if (name == "smollm3") return {{"no_rope_layers", {1, 1}}};  // every fourth does not rotate
    if (name == "qwen3-moe") return {{"use_sliding_window", false}};
    if (name == "cohere2") return {{"layer_types", {"sliding_attention", "sliding_attention"}}};  // every fourth is global
    // sqrt 2, as GGUF's float32 keeps it.
    if (name == "phi3") {
        nlohmann::json rope = nlohmann::json::parse(std::ifstream(fixture(name) / "config.json")).at("rope_parameters");
        rope["attention_factor"] = 1.4142135;
        return {{"rope_parameters", rope}};
    }
    // llama.cpp keeps one of the two factors of YaRN's temperature: they are the same in every released model.
    if (name == "deepseek-v2-groups" || name == "deepseek-v3") {
        nlohmann::json rope = nlohmann::json::parse(std::ifstream(fixture(name) / "config.json")).at("rope_parameters");
        if (rope.contains("mscale_all_dim")) rope["mscale"] = rope["mscale_all_dim"];
        return {{"rope_parameters", rope}};
    }
    if (name == "gemma3")
        return {{"query_pre_attn_scalar", 6},
                {"layer_types", {"sliding_attention", "sliding_attention", "sliding_attention"}},
                {"rope_parameters",
                 {{"full_attention", {{"rope_type", "linear"}, {"factor", 4.0}, {"rope_theta", 1000.0}}},
                  {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 10000.0}}}}}};
    return nlohmann::json::object();
}

TEST_P(GgufModel, ComputesWhatTheFolderComputes) {
    const test::TempFolder temp;
    const std::filesystem::path copy = temp.path() / GetParam();
    std::filesystem::copy(fixture(GetParam()), copy);
    nlohmann::json config = nlohmann::json::parse(std::ifstream(copy / "config.json"));
    config.update(said_otherwise(GetParam()));
    std::ofstream(copy / "config.json") << config;
    const auto folder = Model::load(copy, {.device = "cpu"});
    const auto file = Model::load(gguf(GetParam()), {.device = "cpu"});
    EXPECT_EQ(file->config().family, folder->config().family);
    EXPECT_EQ(file->config().name, GetParam());
    EXPECT_EQ(file->config().norm_epsilon, folder->config().norm_epsilon);
    EXPECT_TRUE(file->report().unused.empty()) << testing::PrintToString(file->report().unused);
    const ForwardInput input = some_text(folder->config(), 12);
    const auto own = run_all(*file, input);
    auto of_folder = run_all(*folder, input);
    // GGUF files of encoders have no masked-word head.
    if (!file->config().has_unembedding)
        std::erase_if(of_folder.tensors, [&](const auto& each) { return !own.tensors.contains(each.first); });
    EXPECT_GT(own.tensors.size(), 10u);
    expect_same_tensors(own, of_folder);
}

TEST_P(GgufModel, EveryPrecisionLoads) {
    for (const ComputeType type : {ComputeType::bfloat16, ComputeType::float64}) {
        const auto folder = Model::load(fixture(GetParam()), {.dtype = type, .device = "cpu"});
        const auto file = Model::load(gguf(GetParam()), {.dtype = type, .device = "cpu"});
        EXPECT_TRUE(at::equal(file->internals().embed, folder->internals().embed));
        EXPECT_TRUE(at::equal(file->internals().layers[0].o.weight, folder->internals().layers[0].o.weight));
        const auto part = [](const Model& m) {
            return m.config().latent.any() ? m.internals().layers[1].kv_up.weight
                                           : qkv_part(m.internals(), Layer(1), QkvPart::k).weight;
        };
        EXPECT_TRUE(at::equal(part(*file), part(*folder)));
    }
}

INSTANTIATE_TEST_SUITE_P(Model, GgufModel,
                         testing::Values("llama-kv2", "llama-mha", "gpt2", "bloom", "bert", "qwen2", "qwen3", "gemma", "gemma2",
                                         "gemma3", "phi", "phi3", "falcon", "falcon-groups", "gpt-bigcode", "deepseek-v2",
                                         "deepseek-v2-groups", "deepseek-v3", "olmo", "olmo2", "granite", "smollm3", "stablelm",
                                         "stablelm-heads", "stablelm-parallel", "mpt", "mixtral", "cohere", "gpt-neox",
                                         "gpt-neox-serial", "nomic-bert", "qwen3-moe", "olmoe", "granitemoe", "starcoder2", "glm",
                                         "glm4", "cohere2", "ernie4_5", "exaone4", "seed-oss", "nemotron", "arcee", "hunyuan",
                                         "ministral3", "olmo3"),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(GgufLoading, RotationFactorsAreUsedAsTheyStand) {
    const test::TempFolder temp;
    const std::filesystem::path copy = temp.path() / "llama";
    std::filesystem::copy(fixture("llama-kv2"), copy);
    nlohmann::json config = nlohmann::json::parse(std::ifstream(copy / "config.json"));
    config["rope_parameters"].update(nlohmann::json{{"rope_type", "llama3"},
                                                    {"factor", 4.0},
                                                    {"low_freq_factor", 1.0},
                                                    {"high_freq_factor", 4.0},
                                                    {"original_max_position_embeddings", 64}});
    std::ofstream(copy / "config.json") << config;
    const auto folder = Model::load(copy, {.device = "cpu"}), file = Model::load(gguf("llama-kv2-stretched"), {.device = "cpu"});
    EXPECT_EQ(file->config().rope.scaling, RopeScaling::longrope) << "no context of Llama 3.1";
    const ForwardInput input = some_text(folder->config(), 12);
    const auto own = run_all(*file, input), expected = run_all(*folder, input);
    ASSERT_EQ(own.tensors.size(), expected.tensors.size());
    for (const auto& [name, tensor] : expected.tensors)
        EXPECT_TRUE(at::allclose(own.tensors.at(name), tensor, 1e-5, 1e-6)) << name;  // the factors are float32
    const auto plain = run_all(*Model::load(fixture("llama-kv2"), {.device = "cpu"}), input);
    EXPECT_FALSE(
        at::allclose(plain.tensors.at("blocks.0.attn.hook_pattern"), own.tensors.at("blocks.0.attn.hook_pattern"), 1e-5, 1e-6));
}

TEST(GgufLoading, TheReportSpeaksOfTheFile) {
    const auto model = Model::load(gguf("llama-kv2"), {.device = "cpu"});
    const auto& loaded = model->report().loaded;
    const auto q = std::ranges::find(loaded, "blocks.1.attn.W_Q", &LoadedParameter::parameter);
    ASSERT_NE(q, loaded.end());
    EXPECT_EQ(q->tensor, "blk.1.attn_q.weight");
    EXPECT_EQ(q->stored_dtype, "F32");
    EXPECT_FALSE(q->mapped) << "its rows were put in order";
    const auto v = std::ranges::find(loaded, "blocks.1.attn.W_V", &LoadedParameter::parameter);
    EXPECT_TRUE(v->mapped);
    EXPECT_EQ(model->hash().size(), 64u);
    EXPECT_GT(model->report().bytes_copied, 0);
}

TEST(GgufLoading, AFolderWithOneFileIsThatFile) {
    const test::TempFolder folder;
    std::filesystem::copy_file(gguf("gpt2"), folder / "weights.gguf");
    const auto model = Model::load(folder.path(), {.device = "cpu"});
    EXPECT_EQ(model->config().family, "gpt2");
    EXPECT_EQ(model->hash(), Model::load(gguf("gpt2"))->hash()) << "the same file is the same model";
    EXPECT_EQ(locate_model((folder / "weights.gguf").string()), folder / "weights.gguf");
    EXPECT_EQ(locate_model(folder.path().string()), folder.path());
}

std::filesystem::path part(int number) {
    return tests_folder() / "fixtures/gguf/llama-kv2-parts" / ("llama-kv2-0000" + std::to_string(number) + "-of-00004.gguf");
}

TEST(GgufParts, AnyPartAndTheFolderAreTheWholeModel) {
    const auto whole = io::GgufFile::open(gguf("llama-kv2"));
    for (const std::filesystem::path& path : {part(1), part(3), part(1).parent_path()}) {
        const auto found = io::gguf_file_of(path);
        ASSERT_EQ(found, part(1)) << path;
        const auto parts = io::GgufFile::open(*found);
        EXPECT_EQ(parts->files().size(), 4u);
        ASSERT_EQ(parts->tensors().size(), whole->tensors().size());
        for (const auto& [name, tensor] : whole->tensors()) {
            const io::GgufTensor* own = parts->find(name);
            ASSERT_TRUE(own) << name;
            EXPECT_EQ(own->shape, tensor.shape) << name;
            EXPECT_TRUE(std::ranges::equal(own->bytes, tensor.bytes)) << name;
        }
        const auto model = Model::load(path, {.device = "cpu"});
        EXPECT_EQ(model->report().files.size(), 4u);
        EXPECT_TRUE(model->report().unused.empty());
    }
    EXPECT_EQ(name_of_model(part(3)), "llama-kv2");
    EXPECT_EQ(locate_model(part(3).string()), part(3));
    const std::filesystem::path all = part(1).parent_path().parent_path();
    const auto entries = std::distance(std::filesystem::directory_iterator(all), {});
    EXPECT_EQ(std::ssize(model_folders_in(all)), entries) << "each file once, and the parts once";
    const auto model = Model::load(part(2), {.device = "cpu"}), folder = Model::load(fixture("llama-kv2"), {.device = "cpu"});
    const ForwardInput input = some_text(folder->config(), 12);
    expect_same_tensors(run_all(*model, input), run_all(*folder, input));
}

TEST(GgufParts, WhatDoesNotBelongTogetherIsRefused) {
    namespace fs = std::filesystem;
    const test::TempFolder folder;
    const auto lay = [&](int from, int to) {
        fs::copy_file(part(from), folder / part(to).filename().string(), fs::copy_options::overwrite_existing);
    };
    const auto opened = [&] { return failure(folder.path()); };
    for (const int number : {1, 3, 4}) lay(number, number);
    EXPECT_THAT(opened(), AllOf(HasSubstr("A part of the model is missing"), HasSubstr("llama-kv2-00002-of-00004.gguf")));
    lay(3, 2);
    EXPECT_THAT(opened(), AllOf(HasSubstr("not the one that its name says"), HasSubstr("split.no"), HasSubstr("00002-of")));
    lay(2, 2);
    EXPECT_EQ(opened(), "loaded");
    fs::copy_file(gguf("llama-kv2"), folder / part(4).filename().string(), fs::copy_options::overwrite_existing);
    EXPECT_THAT(opened(), AllOf(HasSubstr("A part of another model"), HasSubstr("00004-of")));
    const fs::path lost = folder / "lost.gguf";
    fs::copy_file(part(1), lost);
    EXPECT_THROW(Model::load(lost), Error);
}

TEST(GgufPeek, SaysWhatAFileHoldsWithoutLoadingIt) {
    for (const char* name : {"llama-kv2", "llama-mha", "gpt2", "bloom", "bert"}) {
        const Peek file = peek(gguf(name)), folder = peek(fixture(name));
        EXPECT_EQ(file.problem, "") << name;
        EXPECT_EQ(file.config.family, folder.config.family) << name;
        EXPECT_EQ(file.config.n_layers, folder.config.n_layers) << name;
        EXPECT_EQ(file.config.n_heads, folder.config.n_heads) << name;
        EXPECT_EQ(file.config.name, name);
        EXPECT_EQ(file.bytes, std::filesystem::file_size(gguf(name)));
        EXPECT_EQ(read_config(gguf(name)).d_model, folder.config.d_model);
    }
    const Peek parts = peek(part(2));
    EXPECT_EQ(parts.problem, "");
    EXPECT_GT(parts.bytes, std::filesystem::file_size(part(1)));
    const test::TempFolder folder;
    const Peek broken = peek(folder.write("x.gguf", "GGUF"));
    EXPECT_THAT(broken.problem, HasSubstr("x.gguf"));
    EXPECT_EQ(broken.config.n_layers, 0);
}

std::string failure_of(const std::string& content) {
    const test::TempFolder folder;
    return failure(folder.write("m.gguf", content));
}

using test::gguf_entry;
using test::gguf_file;
using test::gguf_tensor;
using test::gguf_text;
using test::raw;

TEST(GgufLoading, ErrorsNameKeysAndTensors) {
    const std::string llama = gguf_entry("general.architecture", 8, gguf_text("llama"));
    EXPECT_THAT(failure_of(gguf_file({}, {}, "")), AllOf(HasSubstr("general.architecture"), HasSubstr("no such key")));
    EXPECT_THAT(failure_of(gguf_file({gguf_entry("general.architecture", 8, gguf_text("rwkv7"))}, {}, "")),
                AllOf(HasSubstr("Unknown architecture"), HasSubstr("rwkv7"), HasSubstr("qwen2")));
    EXPECT_THAT(failure_of(gguf_file({llama}, {}, "")), AllOf(HasSubstr("llama.block_count"), HasSubstr("no such key")));
    EXPECT_THAT(failure_of(gguf_file({llama, gguf_entry("llama.block_count", 8, gguf_text("two"))}, {}, "")),
                AllOf(HasSubstr("llama.block_count"), HasSubstr("\"two\"")));
    EXPECT_THAT(failure_of(gguf_file({llama, gguf_entry("split.count", 2, raw<std::uint16_t>(3))}, {}, "")),
                HasSubstr("split.count"));
    const auto u32 = [](const char* key, std::uint32_t value) { return gguf_entry(key, 4, raw(value)); };
    const std::vector<std::string> config = {llama,
                                             u32("llama.block_count", 1),
                                             u32("llama.embedding_length", 256),
                                             u32("llama.attention.head_count", 4),
                                             u32("llama.feed_forward_length", 256),
                                             u32("llama.context_length", 64),
                                             gguf_entry("llama.attention.layer_norm_rms_epsilon", 6, raw(1e-5f))};
    EXPECT_THAT(failure_of(gguf_file(config, {}, "")), HasSubstr("token_embd.weight"));
    std::vector<std::string> mixtral = config;
    mixtral.push_back(u32("llama.expert_count", 8));
    EXPECT_THAT(failure_of(gguf_file(mixtral, {gguf_tensor("token_embd.weight", {4, 4}, 0, 0)}, std::string(64, 'x'))),
                AllOf(HasSubstr("llama.expert_used_count"), HasSubstr("no such key")));
    EXPECT_THAT(failure_of(gguf_file({gguf_entry("general.architecture", 8, gguf_text("gpt-oss"))}, {}, "")),
                AllOf(HasSubstr("gpt-oss"), HasSubstr("Hugging Face folder")))
        << "the folder form opens";
    EXPECT_THAT(failure_of(gguf_file(config, {gguf_tensor("token_embd.weight", {256, 2}, 16, 0)}, std::string(132, 'x'))),
                AllOf(HasSubstr("token_embd.weight"), HasSubstr("IQ2_XXS"), HasSubstr("Q4_K")));
    EXPECT_THAT(failure_of(gguf_file(config, {gguf_tensor("token_embd.weight", {256, 2}, 8, 0)}, std::string(544, 'x'))),
                HasSubstr("missing"));
    // Rows of q that are no whole heads cannot be put in order.
    EXPECT_THAT(failure_of(gguf_file(
                    config, {gguf_tensor("token_embd.weight", {32, 1}, 8, 0), gguf_tensor("blk.0.attn_q.weight", {4, 9}, 0, 64)},
                    std::string(64 + 144, 'x'))),
                AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("9 rows")));
    EXPECT_THAT(
        failure_of(gguf_file(
            config, {gguf_tensor("token_embd.weight", {32, 1}, 8, 0), gguf_tensor("blk.0.attn_q.weight", {4, 8, 2}, 0, 64)},
            std::string(64 + 256, 'x'))),
        AllOf(HasSubstr("blk.0.attn_q.weight"), HasSubstr("a matrix")));
}

}  // namespace gguf_test
}  // namespace headlight::model
