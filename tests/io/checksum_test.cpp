// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "tests/support/checksums.h"
#include "tests/support/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::io {
namespace checksum_test {

using test::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(Checksum, RefusesAJsonFileWithAnyBitChanged) {
    const test::TempFolder folder;
    const auto file = folder / "kept.json";
    const nlohmann::ordered_json object = {{"z", 0.1}, {"a", {1, 2.0, -0.0, 1e22}}, {"text", "\xC3\xA9 \"quoted\""}};
    write_checked_json(file, object, 1);
    nlohmann::json read = read_checked_json(file, "Do this");
    read.erase("sha256");
    EXPECT_EQ(read, nlohmann::json(object));
    const std::string sound = test::slurp(file);
    for (std::size_t byte = 0; byte < sound.size(); ++byte)
        for (int bit = 0; bit < 8; ++bit) {
            std::string damaged = sound;
            damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
            folder.write("kept.json", damaged);
            ASSERT_THAT(error_of([&] { read_checked_json(file, "Do this"); }),
                        AllOf(HasSubstr("damaged"), HasSubstr("kept.json"), HasSubstr("Do this")))
                << byte << " " << bit;
        }
    folder.write("kept.json", sound.substr(0, sound.size() - 1));
    EXPECT_NE(error_of([&] { read_checked_json(file, ""); }), "no error") << "cut by one byte";
    folder.write("kept.json", "{\"a\": 1}\n");
    EXPECT_THAT(error_of([&] { read_checked_json(file, ""); }), HasSubstr("another version"));
}

TEST(Checksum, RefusesASafetensorsFileWithAnotherMeaning) {
    const test::TempFolder folder;
    const auto file = folder / "kept.safetensors";
    const std::vector<float> floats{1, 2, 3, 4};
    const std::vector<std::int64_t> numbers{-1, 7};
    write_checked_safetensors(file,
                              {{"floats", DType::F32, {2, 2}, std::as_bytes(std::span(floats))},
                               {"numbers", DType::I64, {2}, std::as_bytes(std::span(numbers))}},
                              {{"format", "test"}, {"blocks", "0-5"}});
    const auto content = [&] {
        const TensorStore store = open_checked_safetensors(file, "Do this");
        std::string out;
        for (const auto& [key, value] : store.metadata()) out += key + "=" + value + ";";
        for (const auto& [name, view] : store.tensors()) {
            out += name + std::string(name_of(view.dtype));
            for (const std::int64_t size : view.shape) out += "," + std::to_string(size);
            out.append(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
        }
        return out;
    };
    const std::string sound = test::slurp(file), before = content();
    int refused = 0;
    for (std::size_t byte = 0; byte < sound.size(); ++byte)
        for (int bit = 0; bit < 8; ++bit) {
            folder.write("kept.safetensors", sound);
            test::flip_bit(file, byte, bit);
            try {
                EXPECT_EQ(content(), before) << byte << " " << bit << ": another blank in the header at most";
            } catch (const Error& error) {
                ++refused;
                ASSERT_THAT(error.what(), AllOf(HasSubstr("kept.safetensors"), HasSubstr("Do this")));
            }
        }
    EXPECT_GT(refused, static_cast<int>(sound.size() * 8 * 9 / 10));
}

}  // namespace checksum_test
}  // namespace headlight::io
