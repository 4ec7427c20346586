// SPDX-License-Identifier: GPL-3.0-or-later
// Other kinds of checkpoints of a model give the same numbers, or an error that names the kind.
#include "headlight/model/locate.h"
#include "headlight/model/model.h"
#include "model/internals.h"
#include "tests/model/scratch_model.h"
#include "tests/support/torch_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace checkpoints_test {

using testing::AllOf;
using testing::HasSubstr;

/// The fixture's safetensors as a state dict of torch.save, under a prefix.
void write_torch(const std::filesystem::path& fixture, const std::filesystem::path& file, const std::string& prefix = "") {
    const io::TensorStore store = io::TensorStore::open_folder(fixture);
    std::vector<std::pair<std::string, std::string>> items;
    std::vector<std::string> storages;
    for (const auto& [name, view] : store.tensors()) {
        ASSERT_EQ(view.dtype, io::DType::F32);
        std::vector<std::int64_t> strides(view.shape.size(), 1);
        for (std::size_t d = strides.size(); d-- > 1;) strides[d - 1] = strides[d] * view.shape[d];
        const std::string storage = test::py_storage("FloatStorage", std::to_string(storages.size()), view.numel());
        items.emplace_back(prefix + name, test::py_tensor(storage, 0, view.shape, strides));
        storages.emplace_back(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
    }
    std::ofstream(file, std::ios::binary) << test::torch_archive(test::py_dict(items), storages);
}

void expect_same_weights(const Model& a, const Model& b) {
    const auto& x = a.internals();
    const auto& y = b.internals();
    EXPECT_TRUE(at::equal(x.embed, y.embed));
    ASSERT_EQ(x.layers.size(), y.layers.size());
    for (std::size_t i = 0; i < x.layers.size(); ++i) {
        EXPECT_TRUE(at::equal(x.layers[i].o.weight, y.layers[i].o.weight));
        EXPECT_TRUE(at::equal(x.layers[i].mlp_out.weight, y.layers[i].mlp_out.weight));
    }
    EXPECT_EQ(x.unembed.weight.defined(), y.unembed.weight.defined());
}

class Prefixed : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Prefixed, TorchFileEqualsSafetensors) {
    const auto& [name, prefix] = GetParam();
    const ScratchModel scratch(name);
    write_torch(fixture(name), scratch.folder / "pytorch_model.bin", prefix);
    std::filesystem::remove(scratch.folder / "model.safetensors");
    const auto model = Model::load(scratch.folder);
    expect_same_weights(*model, *Model::load(fixture(name)));
    EXPECT_TRUE(model->report().unused.empty());
}

INSTANTIATE_TEST_SUITE_P(All, Prefixed,
                         testing::Combine(testing::Values("gpt2", "llama-kv2", "bert", "bloom"),
                                          testing::Values("", "module.", "_orig_mod.", "base_model.model.", "0.auto_model.")));

TEST(Checkpoint, AFileByItself) {
    const ScratchModel scratch("gpt2");
    write_torch(fixture("gpt2"), scratch.folder / "step-100.pt");
    std::filesystem::remove(scratch.folder / "model.safetensors");
    const std::filesystem::path file = locate_model((scratch.folder / "step-100.pt").string());
    EXPECT_EQ(file, scratch.folder / "step-100.pt");
    const auto model = Model::load(file);
    expect_same_weights(*model, *Model::load(fixture("gpt2")));
    EXPECT_EQ(folder_of(model->folder()), scratch.folder);
    EXPECT_EQ(model->hash().size(), 64u);
}

TEST(Checkpoint, MoreThanOneModel) {
    const ScratchModel scratch("bert");
    scratch.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        std::vector<ScratchModel::Stored> both;
        for (const char* prefix : {"question_encoder.x.", "ctx_encoder.x."})
            for (ScratchModel::Stored t : tensors) {
                t.name = prefix + t.name;
                both.push_back(std::move(t));
            }
        tensors = std::move(both);
    });
    EXPECT_THAT(failure(scratch.folder), AllOf(HasSubstr("more than one model"), HasSubstr("ctx_encoder.x.")));
}

TEST(Checkpoint, QuantisedByItsConfiguration) {
    EXPECT_THAT(config_failure("llama-mha", "quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}),
                AllOf(HasSubstr("quantisation"), HasSubstr("GPTQ, 4 bits"), HasSubstr("original checkpoint")));
}

TEST(Checkpoint, QuantisedByItsTensors) {
    const ScratchModel scratch("llama-mha");
    scratch.edit_weights([](std::vector<ScratchModel::Stored>& tensors) {
        for (ScratchModel::Stored& t : tensors)
            if (t.name.ends_with("q_proj.weight")) t.name.replace(t.name.size() - 6, 6, "qweight");
    });
    EXPECT_THAT(failure(scratch.folder), AllOf(HasSubstr("GPTQ or AWQ"), HasSubstr("q_proj.qweight")));
}

TEST(Checkpoint, Fp8) {
    const ScratchModel scratch("llama-mha");
    std::ofstream(scratch.folder / "model.safetensors", std::ios::binary)
        << std::string("\x40\0\0\0\0\0\0\0", 8) << R"({"w":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4]}}      )"
        << "1234";
    EXPECT_THAT(failure(scratch.folder), AllOf(HasSubstr("fp8"), HasSubstr("tensor w"), HasSubstr("F8_E5M2")));
}

}  // namespace checkpoints_test
}  // namespace headlight::model
