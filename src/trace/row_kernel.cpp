// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/row_kernel.h"

#include "headlight/base/lanes.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace headlight::trace {
namespace {

using namespace lanes;
static_assert(kLanes == kRowLanes);
constexpr float kKept = 0.9999F;  ///< Clark et al. 2019: 0.9999 a + 0.0001 / n

template <bool kMaxima, bool kLogs>
[[gnu::always_inline]] inline void numbers_of_row(const RowInput& in, const RowColumns& columns, RowNumbers& out) {
    const float* row = in.row;
    const float* factor = in.factor;
    float* const column_sum = columns.sum;
    const std::int64_t n = in.n, readable = in.readable;
    const Floats zero = {};
    const Floats tiny = zero + std::numeric_limits<float>::min();
    Floats lane_index = {};
    for (int k = 0; k < kLanes; ++k) lane_index[k] = static_cast<float>(k);
    const Floats floor = zero + in.floor, one = zero + 1.0F;
    Floats largest = zero, second = zero;
    for (std::int64_t start = 0; start < n; start += kChunk) {
        const std::int64_t end = std::min(n, start + kChunk);
        Floats sum = zero, index = zero, plogp = zero, smoothed = zero, scaled = zero, j = lane_index;
        for (std::int64_t at = start; at < end; at += kLanes, j += static_cast<float>(kLanes)) {
            Floats p = zero, csum, f, logq;
            if (at + kLanes <= readable)
                std::memcpy(&p, row + at, sizeof p);
            else
                std::memcpy(&p, row + at, static_cast<std::size_t>(readable - at) * sizeof(float));
            Floats q = p * kKept + floor;
            if (at + kLanes > n) {
                p = j < static_cast<float>(n - start) ? p : zero;
                q = j < static_cast<float>(n - start) ? q : one;  // 1 ln 1 = 0
            }
            std::memcpy(&f, factor + at, sizeof f);
            if constexpr (kMaxima) {
                Floats cmax;
                std::memcpy(&cmax, columns.max + at, sizeof cmax);
                cmax = p > cmax ? p : cmax;
                std::memcpy(columns.max + at, &cmax, sizeof cmax);
            }
            std::memcpy(&csum, column_sum + at, sizeof csum);
            csum += p;
            sum += p;
            index += p * j;
            natural_log(q, logq);
            smoothed += q * logq;
            scaled += p * f;
            if constexpr (kLogs) {
                Floats logp;
                natural_log(p > tiny ? p : tiny, logp);
                plogp += p * logp;  // below FLT_MIN the product is under 1e-36 either way
            }
            const Floats lower = p < largest ? p : largest;
            largest = p > largest ? p : largest;
            second = lower > second ? lower : second;
            std::memcpy(column_sum + at, &csum, sizeof csum);
        }
        const double chunk_sum = lanes_sum(sum);
        out.sum += chunk_sum;
        out.index += lanes_sum(index) + static_cast<double>(start) * chunk_sum;
        out.plogp += lanes_sum(plogp);
        out.smoothed += lanes_sum(smoothed);
        out.scaled += lanes_sum(scaled);
    }
    for (int k = 0; k < kLanes; ++k) {
        const float a = largest[k], b = second[k];
        out.second = std::max(out.second, a > out.largest ? std::max(out.largest, b) : a);
        out.largest = std::max(out.largest, a);
    }
}

}  // namespace

HEADLIGHT_WIDE void row_pass(const RowInput& in, const RowColumns& columns, RowNumbers& out) {
    if (columns.max)
        in.logs ? numbers_of_row<true, true>(in, columns, out) : numbers_of_row<true, false>(in, columns, out);
    else
        in.logs ? numbers_of_row<false, true>(in, columns, out) : numbers_of_row<false, false>(in, columns, out);
}

}  // namespace headlight::trace
