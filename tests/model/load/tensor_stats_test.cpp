// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/tensor_stats.h"

#include "headlight/base/error.h"
#include "headlight/io/gguf.h"
#include "headlight/io/safetensors.h"
#include "tests/support/temp_folder.h"

#include <ATen/ATen.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace headlight::model {
namespace tensor_stats_test {

template <class T>
io::ArrayRef array(const char* name, io::DType dtype, const std::vector<T>& numbers) {
    return {name, dtype, {static_cast<std::int64_t>(numbers.size())}, std::as_bytes(std::span(numbers))};
}

TEST(TensorStats, CountsWhatIsThere) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const std::vector<double> doubles{0, 1, 2, 3, 4, nan, inf, -inf, nan, 4};
    const std::vector<std::int64_t> whole{-3, 7};
    const std::vector<float> equal{2.5f, 2.5f, 2.5f}, none;
    const std::vector<double> lost{nan, nan};
    const at::Tensor half = at::arange(0, 1000).to(at::kHalf);
    const test::TempFolder folder;
    const auto file = folder / "model.safetensors";
    io::write_safetensors(file,
                          {array("d", io::DType::F64, doubles),
                           array("i", io::DType::I64, whole),
                           array("e", io::DType::F32, equal),
                           array("n", io::DType::F32, none),
                           array("x", io::DType::F64, lost),
                           {"h", io::DType::F16, {10, 100}, {static_cast<const std::byte*>(half.data_ptr()), 2000}}},
                          {});
    const TensorStats d = tensor_stats(file, "d", 4);
    EXPECT_EQ(d.elements, 10);
    EXPECT_EQ(d.nan, 2);
    EXPECT_EQ(d.infinite, 2);
    EXPECT_EQ(d.min, 0);
    EXPECT_EQ(d.max, 4);
    EXPECT_DOUBLE_EQ(d.mean, 14.0 / 6);
    EXPECT_DOUBLE_EQ(d.deviation, std::sqrt(46.0 / 6 - 14.0 / 6 * 14.0 / 6));
    EXPECT_EQ(d.edges, (std::vector<double>{0, 1, 2, 3, 4}));
    EXPECT_EQ(d.counts, (std::vector<std::int64_t>{1, 1, 1, 3})) << "a bin has its lower edge, the last both";
    const TensorStats i = tensor_stats(file, "i", 2);
    EXPECT_EQ(i.dtype, "I64");
    EXPECT_EQ(i.mean, 2);
    EXPECT_EQ(i.deviation, 5);
    const TensorStats e = tensor_stats(file, "e");
    EXPECT_EQ(e.deviation, 0);
    EXPECT_EQ(e.edges, (std::vector<double>{2, 3}));
    EXPECT_EQ(e.counts, (std::vector<std::int64_t>{3}));
    const TensorStats x = tensor_stats(file, "x");
    EXPECT_EQ(x.nan, 2);
    EXPECT_TRUE(std::isnan(x.mean) && x.counts.empty());
    const TensorStats h = tensor_stats(file, "h", 10);
    EXPECT_EQ(h.shape, (std::vector<std::int64_t>{10, 100}));
    EXPECT_DOUBLE_EQ(h.mean, 499.5);
    EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::int64_t{0}), 1000);
    EXPECT_EQ(h.counts.front(), 100);
    EXPECT_THROW(tensor_stats(file, "missing"), Error);
}

// Longer than one part of the reader, and quantised: the numbers are those that the reader of the file makes at once.
TEST(TensorStats, QuantisedTensorsCountAsTheNumbersTheyStandFor) {
    const std::filesystem::path file = std::filesystem::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/gguf/llama-kv2.gguf";
    const auto gguf = io::GgufFile::open(file);
    int checked = 0;
    EXPECT_EQ(tensor_names(file).size(), gguf->tensors().size());
    for (const auto& [name, tensor] : gguf->tensors()) {
        std::vector<float> numbers(static_cast<std::size_t>(tensor.numel()));
        io::dequantize(tensor.type, tensor.bytes, numbers.data());
        const TensorStats s = tensor_stats(file, name);
        EXPECT_EQ(s.min, static_cast<double>(*std::ranges::min_element(numbers))) << name;
        EXPECT_EQ(s.max, static_cast<double>(*std::ranges::max_element(numbers))) << name;
        EXPECT_NEAR(s.mean, std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size()), 1e-9)
            << name;
        EXPECT_EQ(std::accumulate(s.counts.begin(), s.counts.end(), std::int64_t{0}), s.elements) << name;
        EXPECT_EQ(s.dtype, io::layout_of(tensor.type)->name);
        ++checked;
    }
    EXPECT_GT(checked, 10);
}

TEST(TensorStats, LongTensorsAreReadInParts) {
    const test::TempFolder folder;
    const auto file = folder / "model.safetensors";
    constexpr std::int64_t n = (1 << 20) + 5;
    const at::Tensor numbers = at::arange(0, n).to(at::kFloat);
    io::write_safetensors(file,
                          {{"a",
                            io::DType::F32,
                            {n},
                            {static_cast<const std::byte*>(numbers.data_ptr()), static_cast<std::size_t>(numbers.nbytes())}}},
                          {});
    const TensorStats s = tensor_stats(file, "a", 5);
    EXPECT_EQ(s.max, static_cast<double>(n - 1));
    EXPECT_DOUBLE_EQ(s.mean, static_cast<double>(n - 1) / 2);
    for (const std::int64_t count : s.counts) EXPECT_NEAR(static_cast<double>(count), static_cast<double>(n) / 5, 1);
    CancelToken cancelled;
    cancelled.cancel();
    EXPECT_THROW(tensor_stats(file, "a", 5, cancelled), Cancelled);
}

}  // namespace tensor_stats_test
}  // namespace headlight::model
