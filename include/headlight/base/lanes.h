// SPDX-License-Identifier: GPL-3.0-or-later
// Sixteen floats at a time, for inner loops that need a logarithm of every weight. Include it in .cpp files alone.
#pragma once

#include <cstdint>
#include <cstring>

// One object file serves every x86-64: the loader picks a version before the run time of a sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define HEADLIGHT_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HEADLIGHT_WIDE
#endif

namespace headlight::lanes {

inline constexpr int kLanes = 16;
inline constexpr std::int64_t kChunk = 256;  ///< floats are summed over one chunk at most, chunks in float64
using Floats [[gnu::vector_size(kLanes * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
using Ints [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

/// ln x for x in (FLT_MIN, 2): exponent plus ln(1 + t) with 1 + t in [sqrt(1/2), sqrt(2)), a polynomial of t without a division,
/// which would take most of the time; error below 1.2e-7 max(1, |ln x|).
[[gnu::always_inline]] inline void natural_log(const Floats& x, Floats& out) {
    Ints bits;
    std::memcpy(&bits, &x, sizeof bits);
    constexpr std::int32_t exponent_bits = -(1 << 23);
    const Ints exponent = (bits - 0x3f3504f3) & exponent_bits;  // bits of sqrt(1/2): puts the mantissa around 1
    const Ints mantissa_bits = bits - exponent;
    Floats mantissa;
    std::memcpy(&mantissa, &mantissa_bits, sizeof mantissa);
    const Floats t = mantissa - 1.0F;
    const Floats high = -0.16564426F + t * (0.14977995F + t * (-0.14379008F + t * 0.086721845F));
    const Floats series = 0.33334166F + t * (-0.25001699F + t * (0.19954875F + t * high));
    constexpr float ln2_of_bits = 0.69314718056F / (1 << 23);  // the exponent stays where it is
    out = __builtin_convertvector(exponent, Floats) * ln2_of_bits + (t + t * t * (-0.5F + t * series));
}

/// In float64, by halves: one lane after another would take as long as sixteen steps of the loop before it.
[[gnu::always_inline]] inline double lanes_sum(const Floats& v) {
    using Half [[gnu::vector_size(kLanes / 2 * sizeof(float))]] = float;
    using Doubles [[gnu::vector_size(kLanes / 2 * sizeof(double))]] = double;
    using Quarter [[gnu::vector_size(kLanes / 4 * sizeof(double))]] = double;
    Half halves[2];
    std::memcpy(halves, &v, sizeof v);
    const Doubles sum = __builtin_convertvector(halves[0], Doubles) + __builtin_convertvector(halves[1], Doubles);
    Quarter quarters[2];
    std::memcpy(quarters, &sum, sizeof sum);
    const Quarter four = quarters[0] + quarters[1];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

/// Sum of x[from, to), chunks in float64.
[[gnu::always_inline]] inline double sum_of(const float* x, std::int64_t from, std::int64_t to) {
    double all = 0;
    while (from + kLanes <= to) {
        const std::int64_t stop = to < from + kChunk ? to : from + kChunk;
        Floats sum = {};
        for (; from + kLanes <= stop; from += kLanes) {
            Floats more;
            std::memcpy(&more, x + from, sizeof more);
            sum += more;
        }
        all += lanes_sum(sum);
    }
    for (; from < to; ++from) all += static_cast<double>(x[from]);
    return all;
}

}  // namespace headlight::lanes
