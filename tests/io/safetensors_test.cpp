// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/safetensors.h"

#include "headlight/base/error.h"
#include "headlight/io/hash.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace headlight::io {
namespace safetensors_test {

using test::TempFolder;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& v) {
    return std::as_bytes(std::span<const T>(v));
}

TEST(Safetensors, ReadsTheBuiltInModel) {
    const std::filesystem::path folder = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
    const TensorStore store = TensorStore::open_folder(folder);
    ASSERT_EQ(store.files().size(), 1u);
    EXPECT_EQ(store.metadata().at("format"), "pt");
    std::int64_t bytes = 0;
    for (const auto& [name, view] : store.tensors()) {
        EXPECT_EQ(static_cast<std::int64_t>(view.bytes.size()), view.numel() * size_of(view.dtype)) << name;
        bytes += static_cast<std::int64_t>(view.bytes.size());
    }
    EXPECT_GT(bytes, 7'000'000);
    EXPECT_EQ(store.find("no.such.tensor"), nullptr);
}

TEST(Safetensors, WritesWhatItReads) {
    const TempFolder folder;
    const std::vector<float> f32{1.5f, -2.0f, 3.25f, 0.0f, 5.0f, -6.0f};
    const std::vector<std::uint8_t> u8{7, 8, 9};
    const std::vector<double> f64{0.1};
    const std::vector<ArrayRef> arrays{{"z.f32", DType::F32, {2, 3}, bytes_of(f32)},
                                       {"a.u8", DType::U8, {3}, bytes_of(u8)},
                                       {"scalar", DType::F64, {}, bytes_of(f64)},
                                       {"nothing", DType::I64, {0, 4}, {}}};
    write_safetensors(folder / "t.safetensors", arrays, {{"tokens", "[\"Ġthe\"]"}, {"version", "0.1.0"}});
    const TensorStore store = TensorStore::open_file(folder / "t.safetensors");
    EXPECT_EQ(store.metadata().at("tokens"), "[\"Ġthe\"]");
    ASSERT_EQ(store.tensors().size(), arrays.size());
    for (const ArrayRef& array : arrays) {
        const TensorView* view = store.find(array.name);
        ASSERT_NE(view, nullptr) << array.name;
        EXPECT_EQ(view->dtype, array.dtype);
        EXPECT_EQ(view->shape, array.shape);
        ASSERT_EQ(view->bytes.size(), array.bytes.size());
        EXPECT_TRUE(std::equal(view->bytes.begin(), view->bytes.end(), array.bytes.begin())) << array.name;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view->bytes.data()) % size_of(array.dtype), 0u) << array.name;
    }
    const std::string first = test::slurp(folder / "t.safetensors");
    write_safetensors(folder / "again.safetensors", {arrays.rbegin(), arrays.rend()},
                      {{"version", "0.1.0"}, {"tokens", "[\"Ġthe\"]"}});
    EXPECT_EQ(first, test::slurp(folder / "again.safetensors"));
}

TEST(Safetensors, ReadsShardsThroughTheIndex) {
    const TempFolder folder;
    const std::vector<float> a{1}, b{2, 3};
    write_safetensors(folder / "model-00001-of-00002.safetensors", {{"a", DType::F32, {1}, bytes_of(a)}}, {{"format", "pt"}});
    write_safetensors(folder / "model-00002-of-00002.safetensors", {{"b", DType::F32, {2}, bytes_of(b)}}, {{"format", "pt"}});
    folder.write("model.safetensors.index.json",
                 R"({"metadata":{"total_size":12},"weight_map":{"a":"model-00001-of-00002.safetensors",
                     "b":"model-00002-of-00002.safetensors"}})");
    const TensorStore store = TensorStore::open_folder(folder.path());
    EXPECT_EQ(store.files().size(), 2u);
    ASSERT_NE(store.find("b"), nullptr);
    EXPECT_EQ(store.find("b")->file.filename(), "model-00002-of-00002.safetensors");
    float value = 0;
    std::memcpy(&value, store.find("b")->bytes.data() + 4, 4);
    EXPECT_EQ(value, 3);
}

TEST(Safetensors, ViewsOutliveTheStoreAndTheFile) {
    const TempFolder folder;
    const std::vector<float> a{42};
    write_safetensors(folder / "m.safetensors", {{"a", DType::F32, {1}, bytes_of(a)}}, {});
    TensorView view = *TensorStore::open_file(folder / "m.safetensors").find("a");
    std::filesystem::remove(folder / "m.safetensors");
    float value = 0;
    std::memcpy(&value, view.bytes.data(), 4);
    EXPECT_EQ(value, 42);
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
    const TempFolder folder;
    const std::vector<float> a{1, 2};
    const ArrayRef good{"a", DType::F32, {2}, bytes_of(a)};
    const auto refused = [&](const std::vector<ArrayRef>& arrays) {
        EXPECT_THROW(write_safetensors(folder / "x.safetensors", arrays, {}), Error);
    };
    refused({good, good});
    refused({{"a", DType::F32, {3}, bytes_of(a)}});
    refused({{"__metadata__", DType::F32, {2}, bytes_of(a)}});
    refused({{"\xff", DType::F32, {2}, bytes_of(a)}});
    refused({{"a", DType::F32, {1LL << 40, 1LL << 40}, bytes_of(a)}});
    EXPECT_EQ(folder.count(), 0u);
}

TEST(Hash, IsSha256) {
    const TempFolder folder;
    const std::string abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2, B.1
    EXPECT_EQ(sha256_hex(std::as_bytes(std::span("abc", 3))), abc);
    EXPECT_EQ(sha256_file(folder.write("abc", "abc")), abc);
    EXPECT_EQ(sha256_file(folder.write("empty", "")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace safetensors_test
}  // namespace headlight::io
