// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/gguf.h"

#include "headlight/io/safetensors.h"
#include "tests/support/error_of.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace headlight::io {
namespace gguf_test {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kTests = HEADLIGHT_SOURCE_DIR "/tests";

// Random blocks of every type, as gguf.quants.dequantize reads them: tests/golden/make_gguf_golden.py.
TEST(Dequantize, EqualsTheGgufPackageBitForBit) {
    const TensorStore golden = TensorStore::open_file(kTests / "golden/gguf_quants.safetensors");
    int types = 0;
    for (std::uint32_t number = 0; number < 64; ++number) {
        const auto type = static_cast<GgmlType>(number);
        const GgmlLayout* layout = layout_of(type);
        if (!layout || !layout->readable || type == GgmlType::F64) continue;
        SCOPED_TRACE(layout->name);
        const TensorView* blocks = golden.find(std::string(layout->name) + ".blocks");
        const TensorView* values = golden.find(std::string(layout->name) + ".values");
        ASSERT_TRUE(blocks && values);
        ASSERT_EQ(blocks->numel() / layout->bytes * layout->elements, values->numel());
        std::vector<float> numbers(static_cast<std::size_t>(values->numel()), -1.0f);
        dequantize(type, blocks->bytes, numbers.data());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            float expected;
            std::memcpy(&expected, values->bytes.data() + 4 * i, 4);
            ASSERT_EQ(std::memcmp(&expected, &numbers[i], 4), 0) << i << ": " << numbers[i] << ", not " << expected;
        }
        ++types;
    }
    EXPECT_EQ(types, 16);
}

TEST(Dequantize, Float64BecomesFloat) {
    const double wide[] = {0.1, -3.0};
    float narrow[2];
    dequantize(GgmlType::F64, std::as_bytes(std::span(wide)), narrow);
    EXPECT_EQ(narrow[0], 0.1f);
    EXPECT_EQ(narrow[1], -3.0f);
}

TEST(Gguf, ReadsEveryKindOfValue) {
    const std::string list = raw<std::uint32_t>(8) + raw<std::uint64_t>(2) + gguf_text("a") + gguf_text("");
    const std::string nested =
        raw<std::uint32_t>(9) + raw<std::uint64_t>(1) + raw<std::uint32_t>(4) + raw<std::uint64_t>(1) + raw<std::uint32_t>(7);
    const std::string content = gguf_file(
        {gguf_entry("u8", 0, raw<std::uint8_t>(200)), gguf_entry("i8", 1, raw<std::int8_t>(-2)),
         gguf_entry("u16", 2, raw<std::uint16_t>(60000)), gguf_entry("i16", 3, raw<std::int16_t>(-300)),
         gguf_entry("u32", 4, raw<std::uint32_t>(4000000000u)), gguf_entry("i32", 5, raw<std::int32_t>(-70000)),
         gguf_entry("f32", 6, raw(0.5f)), gguf_entry("bool", 7, raw<std::uint8_t>(1)), gguf_entry("text", 8, gguf_text("é")),
         gguf_entry("list", 9, list), gguf_entry("u64", 10, raw<std::uint64_t>(1) + ""),
         gguf_entry("i64", 11, raw<std::int64_t>(-1)), gguf_entry("f64", 12, raw(0.25)), gguf_entry("nested", 9, nested)},
        {}, "", 2);
    const auto file = GgufFile::parse(std::as_bytes(std::span(content)), "x.gguf");
    EXPECT_EQ(file->version(), 2u);
    const nlohmann::json expected = {{"u8", 200},          {"i8", -2},
                                     {"u16", 60000},       {"i16", -300},
                                     {"u32", 4000000000u}, {"i32", -70000},
                                     {"f32", 0.5},         {"bool", true},
                                     {"text", "é"},        {"list", {"a", ""}},
                                     {"u64", 1},           {"i64", -1},
                                     {"f64", 0.25},        {"nested", nlohmann::json::array({nlohmann::json::array({7})})}};
    EXPECT_EQ(file->metadata(), expected);
}

TEST(Gguf, TensorsLieWhereTheFileSays) {
    std::string data(64 + 20, 'x');
    for (int i = 0; i < 6; ++i) std::memcpy(data.data() + 4 * i, raw(static_cast<float>(i)).data(), 4);
    const std::string content = gguf_file({gguf_entry("general.alignment", 4, raw<std::uint32_t>(64))},
                                          {gguf_tensor("b", {32, 1}, 3, 64), gguf_tensor("a", {3, 2}, 0, 0)}, data, 3, 64);
    const TempFolder folder;
    const auto file = GgufFile::open(folder.write("m.gguf", content));
    ASSERT_EQ(file->tensors().size(), 2u);
    const GgufTensor& a = *file->find("a");
    EXPECT_THAT(a.shape, ElementsAre(2, 3)) << "outermost first";
    EXPECT_EQ(a.bytes.size(), 24u);
    float last;
    std::memcpy(&last, a.bytes.data() + 20, 4);
    EXPECT_EQ(last, 5.0f);
    EXPECT_EQ(file->find("b")->bytes.size(), 20u);
    EXPECT_EQ(file->find("c"), nullptr);
}

TEST(GgufFileOf, AFileByItsNameAFolderByItsOnlyOne) {
    const TempFolder folder;
    const auto file = folder.write("one.gguf", "");
    EXPECT_EQ(gguf_file_of(file), file);
    EXPECT_EQ(gguf_file_of(folder / "B.GGUF"), folder / "B.GGUF") << "opening it will tell that it is not there";
    EXPECT_EQ(gguf_file_of(folder / "model.safetensors"), std::nullopt);
    EXPECT_EQ(gguf_file_of(folder.path()), file);
    folder.write("two.gguf", "");
    EXPECT_THAT(error_of([&] { gguf_file_of(folder.path()); }), HasSubstr("one.gguf, two.gguf"));
    folder.write("model.safetensors", "");
    EXPECT_EQ(gguf_file_of(folder.path()), std::nullopt) << "the folder's own weights count";
}

}  // namespace gguf_test
}  // namespace headlight::io
