// SPDX-License-Identifier: GPL-3.0-or-later
// Weights in 8-bit floating point are what transformers makes of them (tests/golden/make_fp8_fixtures.py), and what does not
// fit is named.
#include "headlight/model/peek.h"
#include "headlight/model/tensor_stats.h"
#include "model/internals.h"
#include "model/load/quantization.h"
#include "model/load/weight_source.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace headlight::model {
namespace fp8_test {

using testing::AllOf;
using testing::HasSubstr;

std::string in_models(const std::string& scheme) { return "../fp8/" + scheme; }

const io::TensorStore& golden() {
    static const io::TensorStore store = io::TensorStore::open_file(tests_folder() / "golden" / "fp8.safetensors");
    return store;
}

/// The same model with the reference's numbers in the place of ours.
void write_dequantised(const ScratchModel& copy, const std::string& scheme) {
    copy.edit_config([](nlohmann::json& config) { config.erase("quantization_config"); });
    copy.edit_weights([&](std::vector<ScratchModel::Stored>& tensors) {
        std::erase_if(tensors, [](const auto& t) { return t.name.find("_scale") != std::string::npos; });
        std::int64_t replaced = 0;
        for (ScratchModel::Stored& t : tensors) {
            const io::TensorView* view = golden().find(scheme + "." + t.name);
            if (!view) continue;
            EXPECT_EQ(t.dtype, io::DType::F8_E4M3);
            t.dtype = view->dtype;
            t.bytes.assign(view->bytes.begin(), view->bytes.end());
            ++replaced;
        }
        EXPECT_EQ(replaced, 2 * 7);
    });
}

class Fp8 : public testing::TestWithParam<const char*> {};

TEST_P(Fp8, EveryHookIsThatOfTheReferencesNumbers) {
    const ScratchModel copy(in_models(GetParam()));
    write_dequantised(copy, GetParam());
    for (const ComputeType type : {ComputeType::float32, ComputeType::bfloat16}) {
        const auto ours = Model::load(fixture(in_models(GetParam())), {.dtype = type, .device = "cpu"});
        const auto theirs = Model::load(copy.folder, {.dtype = type, .device = "cpu"});
        EXPECT_TRUE(ours->report().unused.empty()) << testing::PrintToString(ours->report().unused);
        EXPECT_FALSE(ours->report().ignored.empty()) << "the report lists the scales";
        const ForwardInput input = some_text(ours->config(), 12);
        expect_same_tensors(run_all(*ours, input), run_all(*theirs, input));
    }
}

/// A product of 4 and 24 bits is exact in float64.
TEST_P(Fp8, Float64IsTheExactProduct) {
    const auto wide = Model::load(fixture(in_models(GetParam())), {.dtype = ComputeType::float64, .device = "cpu"});
    bool mapped = false;
    const at::Tensor expected =
        to_tensor(*golden().find(std::string(GetParam()) + ".model.layers.1.mlp.down_proj.weight"), at::kFloat, at::kCPU, mapped);
    const at::Tensor found = wide->internals().layers[1].mlp_out.weight.t();
    EXPECT_TRUE(at::equal(found.to(at::kFloat), expected));
}

TEST_P(Fp8, IsKnownWithoutLoading) {
    const Peek seen = peek(fixture(in_models(GetParam())));
    EXPECT_EQ(seen.problem, "");
    EXPECT_EQ(seen.config.n_layers, 2);
}

INSTANTIATE_TEST_SUITE_P(Schemes, Fp8, testing::Values("blocks", "ragged", "tensors", "rows"),
                         [](const auto& p) { return std::string(p.param); });

/// All 256 numbers of the format; LibTorch's own type is not in every version.
TEST(Fp8Numbers, AreThoseOfTheFormat) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::byte>(i));
    const io::TensorView view{
        .name = "all", .dtype = io::DType::F8_E4M3, .shape = {2, 128}, .bytes = bytes, .file = {}, .owner = {}};
    const at::Tensor x = dequantize_fp8(view, nullptr, at::kFloat);
    const auto at = [&](int bits) { return x[bits / 128][bits % 128].item<float>(); };
    EXPECT_EQ(at(0x00), 0.0f);
    EXPECT_TRUE(std::signbit(at(0x80)));
    EXPECT_EQ(at(0x01), 1.0f / 512);  // the least above 0
    EXPECT_EQ(at(0x07), 7.0f / 512);
    EXPECT_EQ(at(0x08), 1.0f / 64);  // the least normal one
    EXPECT_EQ(at(0x38), 1.0f);
    EXPECT_EQ(at(0x39), 1.125f);
    EXPECT_EQ(at(0xb8), -1.0f);
    EXPECT_EQ(at(0x7e), 448.0f);  // the largest
    EXPECT_TRUE(std::isnan(at(0x7f)) && std::isnan(at(0xff)));
    for (int bits = 1; bits < 0x7f; ++bits) EXPECT_GT(at(bits), at(bits - 1));
}

TEST(Fp8Report, SaysWhatWasStored) {
    const auto model = Model::load(fixture(in_models("blocks")));
    const auto& loaded = model->report().loaded;
    const auto q = std::ranges::find(loaded, "blocks.0.attn.W_Q", &LoadedParameter::parameter);
    ASSERT_NE(q, loaded.end());
    EXPECT_EQ(q->stored_dtype, "F8_E4M3");
    EXPECT_FALSE(q->mapped);
    EXPECT_THAT(model->report().ignored, testing::Contains("model.layers.0.self_attn.q_proj.weight_scale_inv"));
}

TEST(Fp8Report, StatisticsAreOfTheNumbersWithTheirScales) {
    const std::string name = "model.layers.0.mlp.up_proj.weight";
    const TensorStats s = tensor_stats(fixture(in_models("blocks")), name, 8);
    bool mapped = false;
    const at::Tensor expected = to_tensor(*golden().find("blocks." + name), at::kDouble, at::kCPU, mapped);
    EXPECT_EQ(s.dtype, "F8_E4M3");
    EXPECT_NEAR(s.mean, expected.mean().item<double>(), 1e-7);
    EXPECT_NEAR(s.max, expected.max().item<double>(), 1e-6);
}

std::string failure_with(const char* scheme, const std::function<void(StoredTensors&)>& edit) {
    const ScratchModel copy(in_models(scheme));
    copy.edit_weights(edit);
    return failure(copy.folder);
}

TEST(Fp8Refused, WhatDoesNotFit) {
    EXPECT_THAT(failure_with("blocks",
                             [](StoredTensors& t) {
                                 std::erase_if(t,
                                               [](const auto& x) { return x.name.ends_with("0.mlp.up_proj.weight_scale_inv"); });
                             }),
                AllOf(HasSubstr("no scales"), HasSubstr("layers.0.mlp.up_proj.weight"), HasSubstr("weight_scale_inv")));
    EXPECT_THAT(
        failure_with("blocks",
                     [](StoredTensors& t) {
                         find(t, "0.mlp.up_proj.weight_scale_inv").shape = {2, 3};
                     }),
        AllOf(HasSubstr("do not fit"), HasSubstr("[3, 2]"), HasSubstr("[8, 8]"), HasSubstr("[24, 16]"), HasSubstr("[2, 3]")));
    EXPECT_THAT(failure_with("blocks",
                             [](StoredTensors& t) {
                                 find(t, "0.mlp.up_proj.weight_scale_inv").set_float(1, std::numeric_limits<float>::infinity());
                             }),
                AllOf(HasSubstr("not finite"), HasSubstr("up_proj.weight_scale_inv")));
    EXPECT_THAT(failure_with("blocks", [](StoredTensors& t) { find(t, "0.mlp.up_proj.weight").bytes[5] = std::byte{0xff}; }),
                AllOf(HasSubstr("not finite"), HasSubstr("[0, 5]"), HasSubstr("NaN")));
    EXPECT_THAT(failure_with("rows",
                             [](StoredTensors& t) {
                                 find(t, "0.mlp.up_proj.weight_scale").shape = {2, 12};
                             }),
                AllOf(HasSubstr("do not fit"), HasSubstr("24 rows"), HasSubstr("[2, 12]")));
}

TEST(Fp8Refused, OtherSchemesByName) {
    const auto with = [](const nlohmann::json& quantization) {
        return config_failure(in_models("blocks"), "quantization_config", quantization);
    };
    EXPECT_THAT(with({{"quant_method", "compressed-tensors"}, {"format", "pack-quantized"}}),
                AllOf(HasSubstr("compressed-tensors, pack-quantized"), HasSubstr("original checkpoint")));
    EXPECT_THAT(with({{"quant_method", "awq"}, {"bits", 4}}), HasSubstr("AWQ, 4 bits"));
    EXPECT_THAT(with({{"quant_method", "mxfp4"}}), HasSubstr("MXFP4"));
    EXPECT_THAT(with({{"quant_method", "fp8"}, {"fmt", "e5m2"}}), AllOf(HasSubstr("fmt"), HasSubstr("e4m3")));
    EXPECT_THAT(with({{"quant_method", "fp8"}, {"weight_block_size", {0, 8}}}), HasSubstr("weight_block_size"));
    EXPECT_THAT(config_failure(in_models("blocks"), [](nlohmann::json& config) { config.erase("quantization_config"); }),
                AllOf(HasSubstr("no quantization_config"), HasSubstr("weight_scale_inv")));
}

}  // namespace fp8_test
}  // namespace headlight::model
