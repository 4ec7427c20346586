// SPDX-License-Identifier: GPL-3.0-or-later
// Products of float32 matrices whose factors are rounded to bfloat16, summed in float32 by the processor's units for it (AVX-512
// BF16, AMX), by oneDNN. The bits of a row depend on neither the other rows nor the number of threads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace headlight::model::bfloat16_products {

/// a [m, k] times b [k, n], float32 on the CPU; one stride of b is 1. Can be cancelled (WorkingFor).
at::Tensor product(const at::Tensor& a, const at::Tensor& b);

/// Keys and values [head, key, d] as the second factors of scores() and mix(): [head, block of kBlockKeys keys, ...].
constexpr std::int64_t kBlockKeys = 512;
at::Tensor packed_keys(const at::Tensor& keys);
at::Tensor packed_values(const at::Tensor& values);

/// Queries or rows of a pattern, `step` numbers apart. At most kTileRows of them are used at once.
constexpr std::int64_t kTileRows = 64;
struct Rows {
    const float* first;
    std::int64_t rows, step;
};
/// s [rows, count], rows `step` apart: scores of `count` keys of a head. `packed`: its part of packed_keys(). One thread.
void scores(const Rows& q, std::int64_t d, const std::int16_t* packed, std::int64_t count, float* s, std::int64_t step);
/// z [rows, d], rows `step` apart: what a pattern [rows, count] mixes of a head's values. One thread.
void mix(const Rows& pattern, std::int64_t count, const std::int16_t* packed, std::int64_t d, float* z, std::int64_t step);

}  // namespace headlight::model::bfloat16_products
