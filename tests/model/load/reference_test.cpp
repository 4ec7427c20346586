// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/reference.h"

#include "tests/model/run_all.h"
#include "tests/model/scratch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::model {
namespace reference_test {

using testing::HasSubstr;

/// A fixture with a golden beside it: the goldens are what make_golden.py writes as a reference, and more.
std::optional<ReferenceCheck> checked(const ScratchModel& model) {
    return check_reference(*Model::load(model.folder, {.dtype = ComputeType::float64, .device = "cpu"}));
}
std::optional<ReferenceCheck> checked(const std::string& name, const std::string& golden) {
    const ScratchModel model(name);
    std::filesystem::copy_file(golden_file(golden, "f64"), model.folder / "reference.safetensors");
    return checked(model);
}

TEST(Reference, SaysHowFarTheNumbersAre) {
    EXPECT_FALSE(checked(ScratchModel("gpt2")));
    for (const char* name : {"gpt2", "bert-mlm", "llama-kv2"}) {
        const auto check = checked(name, name);
        ASSERT_TRUE(check) << name;
        EXPECT_EQ(check->problem, "") << name;
        EXPECT_EQ(check->tokens, static_cast<std::int64_t>(read_golden(golden_file(name, "f64")).input.ids.size()));
        ASSERT_TRUE(check->logits && check->patterns) << name;
        EXPECT_LT(*check->logits, 1e-9) << name;
        EXPECT_LT(*check->patterns, 1e-10) << name;
        EXPECT_THAT(text_of(*check), HasSubstr("max |Δlogit| "));
    }
}

TEST(Reference, WrongNumbersAreSeen) {
    const ScratchModel model("gpt2");
    const io::TensorStore golden = io::TensorStore::open_file(golden_file("gpt2", "f64"));
    std::vector<io::ArrayRef> arrays;
    at::Tensor logits = tensor_of(*golden.find("logits")), pattern = tensor_of(*golden.find("blocks.1.attn.hook_pattern"));
    logits.select(0, 2).select(0, 3).add_(0.5);
    pattern.select(0, 1).select(0, 4).select(0, 2).sub_(0.25);
    for (const auto& [name, view] : golden.tensors()) arrays.push_back({name, view.dtype, view.shape, view.bytes});
    for (io::ArrayRef& array : arrays) {
        const at::Tensor* changed = array.name == "logits"                       ? &logits
                                    : array.name == "blocks.1.attn.hook_pattern" ? &pattern
                                                                                 : nullptr;
        if (changed)
            array.bytes = {static_cast<const std::byte*>(changed->data_ptr()), static_cast<std::size_t>(changed->nbytes())};
    }
    io::write_safetensors(model.folder / "reference.safetensors", arrays, {});
    const auto check = checked(model);
    ASSERT_TRUE(check && check->logits && check->patterns);
    EXPECT_NEAR(*check->logits, 0.5, 1e-9);
    EXPECT_NEAR(*check->patterns, 0.25, 1e-9);
    EXPECT_EQ(check->worst_pattern, "blocks.1.attn.hook_pattern");
    EXPECT_EQ(text_of(*check).substr(text_of(*check).find("max")), "max |Δlogit| 0.5, max |Δpattern| 0.25");
}

TEST(Reference, OfAnotherModelIsAProblemAndNoError) {
    const auto other = checked("gpt2", "llama-kv2");
    ASSERT_TRUE(other);
    EXPECT_NE(other->problem, "");
    const ScratchModel model("gpt2");
    std::ofstream(model.folder / "reference.safetensors") << "No tensors";
    const auto broken = check_reference(*Model::load(model.folder, {.device = "cpu"}));
    ASSERT_TRUE(broken);
    EXPECT_THAT(broken->problem, HasSubstr("reference.safetensors"));
    EXPECT_EQ(text_of(*broken), broken->problem);
}

}  // namespace reference_test
}  // namespace headlight::model
