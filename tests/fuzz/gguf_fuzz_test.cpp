// SPDX-License-Identifier: GPL-3.0-or-later
// Random damage to sound GGUF files, as safetensors_fuzz_test.cpp does it: anything but success or Error is a bug.
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/json_file.h"
#include "tests/support/gguf_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace headlight::io {
namespace gguf_fuzz_test {

using namespace test;

/// True if the bytes were accepted as a sound file; then every tensor is inside and can be read.
bool try_gguf(const std::string& content) {
    const auto bytes = std::as_bytes(std::span(content));
    try {
        const auto file = GgufFile::parse(bytes, "fuzz");
        for (const auto& [name, tensor] : file->tensors()) {
            EXPECT_GE(tensor.bytes.data(), bytes.data());
            EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size());
            const GgmlLayout& layout = *layout_of(tensor.type);
            EXPECT_EQ(static_cast<std::int64_t>(tensor.bytes.size()), tensor.numel() / layout.elements * layout.bytes);
            if (!layout.readable) continue;
            std::vector<float> numbers(static_cast<std::size_t>(tensor.numel()));
            dequantize(tensor.type, tensor.bytes, numbers.data());
        }
        return true;
    } catch (const Error&) {
        return false;
    }
}

class Mutator {
public:
    std::string operator()(std::string bytes, std::size_t within) {
        for (int n = 1 + static_cast<int>(below(4)); n > 0; --n) {
            const std::size_t at = below(std::min(within, bytes.size()));
            switch (below(6)) {
                case 0: bytes[at] = static_cast<char>(below(256)); break;
                case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
                case 2: bytes[at] = static_cast<char>(below(2) ? 0xff : 0); break;
                case 3: bytes.erase(at, 1 + below(8)); break;
                case 4: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(40))); break;
                default:  // a whole number somewhere becomes one at the edge
                    for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i) bytes[at + i] = i < 7 ? '\xff' : '\x7f';
            }
            if (bytes.empty()) bytes = "G";
        }
        return bytes;
    }

private:
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
    std::mt19937_64 random_{20250101};
};

TEST(FuzzGguf, DamagedHeaders) {
    const std::string list = raw<std::uint32_t>(8) + raw<std::uint64_t>(2) + gguf_text("one") + gguf_text("two");
    const std::string file = gguf_file(
        {gguf_entry("general.architecture", 8, gguf_text("llama")), gguf_entry("general.alignment", 4, raw<std::uint32_t>(32)),
         gguf_entry("tokens", 9, list), gguf_entry("eps", 6, raw(1e-5f))},
        {gguf_tensor("a", {32, 2}, 3, 0), gguf_tensor("b", {3, 4}, 0, 64), gguf_tensor("c", {256}, 14, 128)},
        std::string(128 + 210, 'x'));
    ASSERT_TRUE(try_gguf(file));
    const std::size_t header = file.size() - 338;
    Mutator mutate;
    int sound = 0;
    constexpr int kRuns = 100'000;
    for (int i = 0; i < kRuns; ++i) sound += try_gguf(mutate(file, header));
    EXPECT_GT(sound, 0);  // a changed letter in a text is no damage
    EXPECT_LT(sound, kRuns / 2);
}

TEST(FuzzGguf, DamagedModels) {
    const std::string file = read_text(std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/gguf/llama-kv2.gguf");
    ASSERT_TRUE(try_gguf(file));
    Mutator mutate;
    for (int i = 0; i < 2'000; ++i) try_gguf(mutate(file, 12'000));
}

}  // namespace gguf_fuzz_test
}  // namespace headlight::io
