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
    Floats largest, second;
    std::memcpy(&largest, out.largest.data(), sizeof largest);
    std::memcpy(&second, out.second.data(), sizeof second);
    for (std::int64_t start = 0; start < n; start += kChunk) {
        const std::int64_t end = std::min(n, start + kChunk);
        Floats sum = zero, sums = zero, plogp = zero, smoothed = zero, scaled = zero;
        for (std::int64_t at = start; at < end; at += kLanes) {
            Floats p = zero, csum, f, logq;
            if (at + kLanes <= readable)
                std::memcpy(&p, row + at, sizeof p);
            else
                std::memcpy(&p, row + at, static_cast<std::size_t>(readable - at) * sizeof(float));
            Floats q = p * kKept + floor;
            if (at + kLanes > n) {
                p = lane_index < static_cast<float>(n - at) ? p : zero;
                q = lane_index < static_cast<float>(n - at) ? q : one;  // 1 ln 1 = 0
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
            sums += sum;
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
        // Step k of s has been added to s - k of the sums: sum of k p = s sum p - sums.
        const auto steps = static_cast<float>((end - start + kLanes - 1) / kLanes);
        const double chunk_sum = lanes_sum(sum);
        out.sum += chunk_sum;
        out.index += lanes_sum(static_cast<float>(kLanes) * (steps * sum - sums) + lane_index * sum) +
                     static_cast<double>(in.first_key + start) * chunk_sum;
        out.plogp += lanes_sum(plogp);
        out.smoothed += lanes_sum(smoothed);
        out.scaled += lanes_sum(scaled);
    }
    std::memcpy(out.largest.data(), &largest, sizeof largest);
    std::memcpy(out.second.data(), &second, sizeof second);
}

/// Numbers [at, end) of these rows, one row after the other as row_pass() adds them.
template <int kRows, bool kMaxima>
[[gnu::always_inline]] inline void add_rows_to(const float* const* rows, std::int64_t at, std::int64_t end,
                                               const RowColumns& columns) {
    for (; at + kLanes <= end; at += kLanes) {
        Floats sum, max;
        std::memcpy(&sum, columns.sum + at, sizeof sum);
        if constexpr (kMaxima) std::memcpy(&max, columns.max + at, sizeof max);
        for (int r = 0; r < kRows; ++r) {
            Floats p;
            std::memcpy(&p, rows[r] + at, sizeof p);
            sum += p;
            if constexpr (kMaxima) max = p > max ? p : max;
        }
        std::memcpy(columns.sum + at, &sum, sizeof sum);
        if constexpr (kMaxima) std::memcpy(columns.max + at, &max, sizeof max);
    }
    for (; at < end; ++at)
        for (int r = 0; r < kRows; ++r) {
            columns.sum[at] += rows[r][at];
            if constexpr (kMaxima) columns.max[at] = std::max(columns.max[at], rows[r][at]);
        }
}

template <bool kMaxima>
[[gnu::always_inline]] inline void add_all(const float* const* rows, std::int64_t count, std::int64_t n,
                                           const RowColumns& columns) {
    constexpr std::int64_t kStretch = 1024;  // sums and maxima of as many stay in the core's first cache
    for (std::int64_t at = 0; at < n; at += kStretch) {
        const std::int64_t end = std::min(n, at + kStretch);
        std::int64_t r = 0;
        for (; r + 4 <= count; r += 4) add_rows_to<4, kMaxima>(rows + r, at, end, columns);
        for (; r < count; ++r) add_rows_to<1, kMaxima>(rows + r, at, end, columns);
    }
}

}  // namespace

HEADLIGHT_WIDE void row_pass(const RowInput& in, const RowColumns& columns, RowNumbers& out) {
    if (columns.max)
        in.logs ? numbers_of_row<true, true>(in, columns, out) : numbers_of_row<true, false>(in, columns, out);
    else
        in.logs ? numbers_of_row<false, true>(in, columns, out) : numbers_of_row<false, false>(in, columns, out);
}

HEADLIGHT_WIDE void add_together(const float* const* rows, std::int64_t count, std::int64_t n, const RowColumns& columns) {
    columns.max ? add_all<true>(rows, count, n, columns) : add_all<false>(rows, count, n, columns);
}

HEADLIGHT_WIDE Pooled pool(const float* max, const float* sum, std::int64_t n) {
    Floats largest = {}, all = {};
    std::int64_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
        Floats m, s;
        std::memcpy(&m, max + at, sizeof m);
        std::memcpy(&s, sum + at, sizeof s);
        largest = m > largest ? m : largest;
        all += s;
    }
    Pooled pooled{0, lanes_sum(all)};
    for (int k = 0; k < kLanes; ++k) pooled.max = std::max(pooled.max, largest[k]);
    for (; at < n; ++at) {
        pooled.max = std::max(pooled.max, max[at]);
        pooled.sum += static_cast<double>(sum[at]);
    }
    return pooled;
}

std::array<float, 2> RowNumbers::two_largest() const {
    float first = 0, next = 0;
    for (std::size_t k = 0; k < largest.size(); ++k) {
        next = std::max(next, largest[k] > first ? std::max(first, second[k]) : largest[k]);
        first = std::max(first, largest[k]);
    }
    return {first, next};
}

}  // namespace headlight::trace
