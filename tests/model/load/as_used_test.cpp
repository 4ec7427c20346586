// SPDX-License-Identifier: GPL-3.0-or-later
// Weights that are converted as they are used against the same weights converted once.
#include "headlight/model/as_used.h"
#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "headlight/io/mapped_file.h"
#include "headlight/model/generate.h"
#include "model/internals.h"
#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"
#include "tests/support/case_name.h"
#include "tests/support/error_of.h"
#include "tests/support/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace headlight::model {
namespace as_used_test {

using testing::HasSubstr;

std::shared_ptr<const Model> load_as_used(const std::filesystem::path& path, ComputeType type) {
    const test::Budget none;
    return Model::load(path, {.dtype = type, .device = "cpu"});
}

void expect_same_pass(const Model& used, const Model& whole) {
    EXPECT_EQ(bytes_as_used(whole), 0);
    if (used.dtype() == ComputeType::float64) {  // the files of a fixture may be in bfloat16
        EXPECT_GT(bytes_as_used(used), 0);
    }
    EXPECT_EQ(used.parameter_counts(), whole.parameter_counts());
    ForwardInput input = some_text(whole.config(), 12);
    if (whole.part(Stack::encoder)) {
        const ForwardInput source = some_text(whole.part(Stack::encoder)->config(), 9);
        Collector theirs, ours;
        input.source = encode(*whole.part(Stack::encoder), source, theirs, {}, {});
        ForwardInput own = input;
        own.source = encode(*used.part(Stack::encoder), source, ours, {}, {});
        expect_same_tensors(ours, theirs);
    }
    expect_same_tensors(run_all(used, input), run_all(whole, input));
    for (std::int64_t l = 0; l < whole.config().n_layers; ++l)
        EXPECT_TRUE(at::equal(length_factors(used.internals(), Layer(l)), length_factors(whole.internals(), Layer(l))));
}

class EveryFixture : public testing::TestWithParam<std::string> {};

TEST_P(EveryFixture, ComputesBitForBitWhatItComputesConvertedOnce) {
    for (const ComputeType type : {ComputeType::float64, ComputeType::bfloat16}) {
        const auto whole = Model::load(fixture(GetParam()), {.dtype = type, .device = "cpu"});
        expect_same_pass(*load_as_used(fixture(GetParam()), type), *whole);
    }
}

INSTANTIATE_TEST_SUITE_P(AsUsed, EveryFixture, testing::ValuesIn(fixture_names()),
                         [](const auto& each) { return test::case_name(each.param); });

TEST(WeightsAsUsed, OfAnEncoderAndADecoderToo) {
    for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / "encoder_decoders")) {
        const auto whole = Model::load(entry.path(), {.dtype = ComputeType::float64, .device = "cpu"});
        const auto used = load_as_used(entry.path(), ComputeType::float64);
        expect_same_pass(*used, *whole);
        const auto factors = [](const Model& m) { return length_factors(m.part(Stack::cross)->internals(), Layer(1)); };
        EXPECT_TRUE(at::equal(factors(*used), factors(*whole))) << entry.path();
        EXPECT_EQ(used->part(Stack::encoder)->parameter_counts(), whole->part(Stack::encoder)->parameter_counts());
    }
}

TEST(WeightsAsUsed, OfAGgufFileAndOfFp8) {
    for (const char* folder : {"gguf", "fp8"}) {
        for (const auto& entry : std::filesystem::directory_iterator(tests_folder() / "fixtures" / folder)) {
            if (entry.path().filename() == "llama-kv2-parts") continue;
            SCOPED_TRACE(entry.path());
            // A gpt2.gguf of float32 needs nothing but its matrices turned; with float64 everything is converted.
            const auto whole = Model::load(entry.path(), {.dtype = ComputeType::float64, .device = "cpu"});
            expect_same_pass(*load_as_used(entry.path(), ComputeType::float64), *whole);
        }
    }
}

TEST(WeightsAsUsed, GenerateTheSameTokens) {
    const auto gguf = tests_folder() / "fixtures" / "gguf" / "llama-kv2.gguf";
    const auto tokens = [](const Model& m) { return generate(m, {3, 1, 4, 1, 5}, {.tokens = 6}, {}, {}, {}).ids; };
    EXPECT_EQ(tokens(*load_as_used(gguf, ComputeType::float32)), tokens(*Model::load(gguf, {.device = "cpu"})));
}

TEST(WeightsAsUsed, AreGoneWithTheLastWhoHasThem) {
    const auto model = load_as_used(fixture("llama-kv2"), ComputeType::float64);
    const Model::Internals& m = model->internals();
    std::weak_ptr<const LayerWeights> first;
    at::Tensor kept;
    {
        const auto layer = weights_of(m, Layer(0), LayerPart::mlp);
        EXPECT_EQ(weights_of(m, Layer(0), LayerPart::mlp), layer) << "not converted again while it is there";
        EXPECT_TRUE(layer->q.weight.is_meta()) << "the other part is not converted";
        first = layer;
        kept = layer->mlp_out.weight;
    }
    EXPECT_FALSE(first.expired()) << "the latest one stays";
    weights_of(m, Layer(1), LayerPart::mlp);
    EXPECT_TRUE(first.expired());
    EXPECT_TRUE(at::equal(kept, weights_of(m, Layer(0), LayerPart::mlp)->mlp_out.weight)) << "a tensor keeps its own memory";
}

TEST(WeightsAsUsed, StayWhereThereIsRoomForThem) {
    const auto whole = Model::load(fixture("llama-kv2"), {.dtype = ComputeType::float64, .device = "cpu"});
    const std::int64_t copied = whole->report().bytes_copied * 2;  // float32 in the file
    const test::Budget budget(copied * 5 / 4);
    const auto model = Model::load(fixture("llama-kv2"), {.dtype = ComputeType::float64, .device = "cpu"});
    ASSERT_GT(bytes_as_used(*model), 0) << "three quarters of it are not enough for all";
    std::weak_ptr<const LayerWeights> first = weights_of(model->internals(), Layer(0), LayerPart::attention);
    weights_of(model->internals(), Layer(1), LayerPart::attention);
    EXPECT_FALSE(first.expired());
}

TEST(WeightsAsUsed, SeveralThreadsGetTheSameNumbers) {
    const auto whole = Model::load(fixture("llama-kv2"), {.dtype = ComputeType::float64, .device = "cpu"});
    const auto model = load_as_used(fixture("llama-kv2"), ComputeType::float64);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::int64_t i = 0; i < 40; ++i) {
                const Layer layer((i + t) % 2);
                const auto found = weights_of(model->internals(), layer, LayerPart::attention);
                wrong += !at::equal(found->o.weight, weights_of(whole->internals(), layer, LayerPart::attention)->o.weight);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
}

TEST(WeightsAsUsed, AWeightThatIsNotFiniteIsReportedWhenItIsUsed) {
    const ScratchModel scratch("llama-kv2");
    scratch.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        ScratchModel::Stored& t = find(tensors, "model.layers.1.mlp.down_proj.weight");
        t.set_float(t.shape[1] * 2 + 3, std::nanf(""));
    });
    const auto model = load_as_used(scratch.folder, ComputeType::float64);
    weights_of(model->internals(), Layer(0), LayerPart::mlp);
    EXPECT_THAT(test::error_of([&] { weights_of(model->internals(), Layer(1), LayerPart::mlp); }),
                testing::AllOf(HasSubstr("model.layers.1.mlp.down_proj.weight at [2, 3]"), HasSubstr("NaN"),
                               HasSubstr("model.safetensors")));
}

TEST(WeightsAsUsed, AFileThatIsCutShortIsReportedByWhoReadsOfIt) {
    const ScratchModel scratch("llama-kv2"), other("llama-kv2");
    const auto file = scratch.folder / "model.safetensors";
    const auto model = load_as_used(scratch.folder, ComputeType::float64);
    weights_of(model->internals(), Layer(0), LayerPart::mlp);
    const auto cut = [](const std::filesystem::path& path) {  // what the handler of SIGBUS does
        auto mapped = io::MappedFile::open(path);
        EXPECT_TRUE(mapped->blank_from(mapped->bytes().data()));
        return mapped;
    };
    const auto lost = cut(file), lost_too = cut(other.folder / "model.safetensors");
    for (const std::int64_t layer : {1, 0}) {
        try {
            weights_of(model->internals(), Layer(layer), LayerPart::mlp);
            ADD_FAILURE() << "no error";
        } catch (const Error& error) {
            EXPECT_EQ(error.facts().file, file.string());
        }
    }
    EXPECT_NO_THROW(weights_of(load_as_used(scratch.folder, ComputeType::float64)->internals(), Layer(0), LayerPart::mlp))
        << "opened after that";
}

TEST(WeightsAsUsed, ACancelledJobConvertsNothing) {
    const auto model = load_as_used(fixture("llama-kv2"), ComputeType::float64);
    const CancelToken token;
    token.cancel();
    {
        const WorkingFor cancelled(token);
        EXPECT_THROW(weights_of(model->internals(), Layer(0), LayerPart::mlp), Cancelled);
    }
    EXPECT_NO_THROW(weights_of(model->internals(), Layer(0), LayerPart::mlp));
}

TEST(WeightsAsUsed, WhatNeedsNoConversionIsMappedAsEver) {
    const auto in_file = load_as_used(fixture("gpt2"), ComputeType::float32);
    EXPECT_EQ(bytes_as_used(*in_file), 0) << "float32 weights need no conversion, whatever the budget";
    EXPECT_GT(in_file->report().bytes_mapped, 0);
}

}  // namespace as_used_test
}  // namespace headlight::model
