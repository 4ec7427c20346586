// SPDX-License-Identifier: GPL-3.0-or-later
// Files that PyTorch itself wrote (tests/golden/make_torch_fixtures.py), against the same tensors as safetensors.
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "headlight/io/mapped_file.h"
#include "headlight/io/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "tests/support/torch_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace headlight::io {
namespace torch_file_test {

using test::TempFolder;
using testing::AllOf;
using testing::HasSubstr;

const std::filesystem::path kFixtures = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/torch";

void expect_same(const TensorStore& store, const TensorStore& expected) {
    ASSERT_EQ(store.tensors().size(), expected.tensors().size());
    for (const auto& [name, view] : expected.tensors()) {
        const TensorView* ours = store.find(name);
        ASSERT_NE(ours, nullptr) << name;
        EXPECT_EQ(ours->dtype, view.dtype) << name;
        EXPECT_EQ(ours->shape, view.shape) << name;
        EXPECT_TRUE(std::ranges::equal(ours->bytes, view.bytes)) << name;
    }
}

std::string failure(const std::filesystem::path& path) {
    return test::error_of([&] { TensorStore::open_file(path); });
}

TEST(TorchFile, ReadsEveryTypeAndStride) {
    const TensorStore expected = TensorStore::open_file(kFixtures / "types.safetensors");
    EXPECT_EQ(expected.tensors().size(), 19u);
    expect_same(TensorStore::open_file(kFixtures / "types.bin"), expected);
}

TEST(TorchFile, FindsTheStateDictOfACheckpoint) {
    expect_same(TensorStore::open_file(kFixtures / "nested.pt"), TensorStore::open_file(kFixtures / "types.safetensors"));
}

TEST(TorchFile, ReadsTheFormatBeforePyTorch16) {
    expect_same(TensorStore::open_file(kFixtures / "legacy-types.bin"), TensorStore::open_file(kFixtures / "types.safetensors"));
    const std::string whole = read_text(kFixtures / "legacy.bin");
    const TempFolder folder;
    for (const std::size_t size : {whole.size() - 1, whole.size() - 12, whole.size() / 2, std::size_t{20}})
        EXPECT_THROW(TensorStore::open_file(folder.write("cut.bin", whole.substr(0, size))), Error) << size;
    EXPECT_THAT(failure(folder.write("more.bin", whole + "x")), HasSubstr("belong to no tensor"));
}

TEST(TorchFile, NumbersStayInTheFile) {
    const TensorStore store = TensorStore::open_file(kFixtures / "types.bin");
    const auto mapped = std::static_pointer_cast<const MappedFile>(store.find("f32")->owner);
    const auto within = [&](const char* name) {
        const auto bytes = store.find(name)->bytes;
        return bytes.data() >= mapped->bytes().data() &&
               bytes.data() + bytes.size() <= mapped->bytes().data() + mapped->bytes().size();
    };
    for (const char* name : {"f32", "bf16", "whole", "slice", "parameter"}) EXPECT_TRUE(within(name)) << name;
    for (const char* name : {"transposed", "strided", "expanded"}) EXPECT_FALSE(within(name)) << name;
}

TEST(TorchFile, FolderWithShards) {
    const TempFolder folder;
    const auto shard = [](const char* name, float value) {
        std::string bytes(4, '\0');
        std::memcpy(bytes.data(), &value, 4);
        return test::torch_archive(
            test::py_dict({{name, test::py_tensor(test::py_storage("FloatStorage", "0", 1), 0, {1}, {1})}}), {bytes});
    };
    folder.write("pytorch_model-00001-of-00002.bin", shard("a", 1));
    folder.write("pytorch_model-00002-of-00002.bin", shard("b", 2));
    folder.write("pytorch_model.bin.index.json", R"({"weight_map":{"a":"pytorch_model-00001-of-00002.bin",
                                                     "b":"pytorch_model-00002-of-00002.bin"}})");
    const TensorStore store = TensorStore::open_folder(folder.path());
    EXPECT_EQ(store.files().size(), 2u);
    float value = 0;
    std::memcpy(&value, store.find("b")->bytes.data(), 4);
    EXPECT_EQ(value, 2);
    // A safetensors file beside it is preferred.
    write_safetensors(folder / "model.safetensors", {}, {});
    EXPECT_TRUE(TensorStore::open_folder(folder.path()).tensors().empty());
}

TEST(TorchFile, SaysWhatOtherFilesAre) {
    EXPECT_THAT(failure(kFixtures / "script.pt"), AllOf(HasSubstr("TorchScript"), HasSubstr("state_dict()")));
    EXPECT_THAT(failure(kFixtures / "fp8.bin"), AllOf(HasSubstr("fp8"), HasSubstr("tensor w"), HasSubstr("bfloat16")));
}

}  // namespace torch_file_test
}  // namespace headlight::io
