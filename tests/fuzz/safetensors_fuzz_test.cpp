// SPDX-License-Identifier: GPL-3.0-or-later
// Random damage to sound files. One call is the target; anything but success or Error (a crash, a hang, another
// exception, a sanitizer's report) is a bug. The seed is fixed, so a failure can be repeated.
#include "headlight/base/error.h"
#include "headlight/io/json_file.h"
#include "io/safetensors_header.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/temp_folder.h"

#include <gtest/gtest.h>

namespace headlight::io {
namespace safetensors_fuzz_test {

/// True when the bytes were taken for a sound file; then every view must lie inside them.
bool try_safetensors(const std::string& content) {
    const auto bytes = std::as_bytes(std::span(content));
    try {
        for (const TensorView& view : parse_safetensors(bytes, "fuzz").tensors) {
            if (view.bytes.empty()) continue;
            EXPECT_GE(view.bytes.data(), bytes.data());
            EXPECT_LE(view.bytes.data() + view.bytes.size(), bytes.data() + bytes.size());
            EXPECT_EQ(static_cast<std::int64_t>(view.bytes.size()), view.numel() * size_of(view.dtype));
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

const std::string kHeader =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},"c":{"dtype":"U8","shape":[],"data_offsets":[32,33]}})";

TEST(FuzzSafetensors, DamagedHeaders) {
    const std::string data(33, 'x');
    ASSERT_TRUE(try_safetensors(test::raw_safetensors(kHeader, data)));
    test::Mutator mutate;
    int sound = 0;
    constexpr int kRuns = 100'000;
    for (int i = 0; i < kRuns; ++i) sound += try_safetensors(test::raw_safetensors(mutate(kHeader), data));
    EXPECT_GT(sound, 0);  // a changed letter in a name is no damage
    EXPECT_LT(sound, kRuns / 2);
}

TEST(FuzzSafetensors, DamagedFiles) {
    const std::string file = test::raw_safetensors(kHeader, std::string(33, 'x'));
    test::Mutator mutate;
    for (int i = 0; i < 50'000; ++i) try_safetensors(mutate(file));
}

TEST(FuzzJson, DamagedText) {
    const std::string text = read_text(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m/config.json");
    test::Mutator mutate;
    int sound = 0;
    for (int i = 0; i < 50'000; ++i) {
        const std::string damaged = mutate(text);
        try {
            // What we take for JSON the library must take too, with the same content.
            const nlohmann::json ours = parse_json(damaged, "fuzz");
            EXPECT_EQ(ours, nlohmann::json::parse(damaged));
            ++sound;
        } catch (const Error&) {
        }
    }
    EXPECT_GT(sound, 0);
}

}  // namespace safetensors_fuzz_test
}  // namespace headlight::io
