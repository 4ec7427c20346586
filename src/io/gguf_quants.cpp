// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of ggml's block types (ggml-quants.c, dequantize_row_*), in the order of operations of the gguf package:
// one float multiplication and one addition a number, never fused (this file is compiled with -ffp-contract=off).
#include "headlight/base/error.h"
#include "headlight/io/gguf.h"

#include <array>
#include <bit>
#include <cstring>

namespace headlight::io {
namespace {

using Bytes = const std::uint8_t*;

/// Half precision (IEEE 754 binary16) to float, exact.
float half(Bytes p) {
    const std::uint32_t h = p[0] | static_cast<std::uint32_t>(p[1]) << 8;
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 0x1f, mantissa = h & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    const float small = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -small : small;
}

float signed_byte(std::uint8_t b) { return static_cast<float>(static_cast<std::int8_t>(b)); }

void f32(Bytes b, float* y) { std::memcpy(y, b, 4); }
void f16(Bytes b, float* y) { *y = half(b); }
void bf16(Bytes b, float* y) {
    *y = std::bit_cast<float>(static_cast<std::uint32_t>(b[0]) << 16 | static_cast<std::uint32_t>(b[1]) << 24);
}
void f64(Bytes b, float* y) {
    double wide;
    std::memcpy(&wide, b, 8);
    *y = static_cast<float>(wide);
}

void q8_0(Bytes b, float* y) {
    const float d = half(b);
    for (int i = 0; i < 32; ++i) y[i] = signed_byte(b[2 + i]) * d;
}

void q4_0(Bytes b, float* y) {
    const float d = half(b);
    for (int i = 0; i < 16; ++i) {
        y[i] = d * static_cast<float>((b[2 + i] & 15) - 8);
        y[i + 16] = d * static_cast<float>((b[2 + i] >> 4) - 8);
    }
}

void q4_1(Bytes b, float* y) {
    const float d = half(b), m = half(b + 2);
    for (int i = 0; i < 16; ++i) {
        y[i] = d * static_cast<float>(b[4 + i] & 15) + m;
        y[i + 16] = d * static_cast<float>(b[4 + i] >> 4) + m;
    }
}

/// The five-bit number i of a block: four bits in `q`, the fifth in `high`.
int five(std::uint32_t high, Bytes q, int i) {
    const int low = i < 16 ? q[i] & 15 : q[i - 16] >> 4;
    return low | static_cast<int>(high >> i & 1) << 4;
}

void q5_0(Bytes b, float* y) {
    const float d = half(b);
    std::uint32_t high;
    std::memcpy(&high, b + 2, 4);
    for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(five(high, b + 6, i) - 16);
}

void q5_1(Bytes b, float* y) {
    const float d = half(b), m = half(b + 2);
    std::uint32_t high;
    std::memcpy(&high, b + 4, 4);
    for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(five(high, b + 8, i)) + m;
}

void q2_k(Bytes b, float* y) {
    Bytes scales = b, q = b + 16;
    const float d = half(b + 80), least = half(b + 82);
    for (int group = 0; group < 16; ++group) {
        const float scale = d * static_cast<float>(scales[group] & 15);
        const float offset = least * static_cast<float>(scales[group] >> 4);
        // 128 numbers share 32 bytes: two bits of each byte for every run of 32.
        Bytes from = q + 32 * (group / 8) + 16 * (group % 2);
        const int shift = 2 * (group % 8 / 2);
        for (int i = 0; i < 16; ++i) y[16 * group + i] = scale * static_cast<float>(from[i] >> shift & 3) - offset;
    }
}

void q3_k(Bytes b, float* y) {
    Bytes high = b, q = b + 32, packed = b + 96;
    const float d = half(b + 108);
    for (int group = 0; group < 16; ++group) {
        const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
        const int top = packed[8 + group % 4] >> (2 * (group / 4)) & 3;
        const float scale = d * static_cast<float>((low | top << 4) - 32);
        const int first = 16 * (group % 2);
        const int shift = 2 * (group % 8 / 2), bit = group / 2;
        for (int i = 0; i < 16; ++i) {
            const int two = q[32 * (group / 8) + first + i] >> shift & 3;
            const int missing = (high[first + i] >> bit & 1) ^ 1;  // a set bit means: nothing is taken off
            y[16 * group + i] = scale * static_cast<float>(two - 4 * missing);
        }
    }
}

struct ScaleMin {
    float scale, least;
};
/// Scale and offset of group j of a Q4_K or Q5_K block: six bits each, packed into twelve bytes.
ScaleMin scale_min(Bytes p, int j) {
    if (j < 4) return {static_cast<float>(p[j] & 63), static_cast<float>(p[j + 4] & 63)};
    return {static_cast<float>((p[j + 4] & 15) | (p[j - 4] >> 6) << 4), static_cast<float>((p[j + 4] >> 4) | (p[j] >> 6) << 4)};
}

void q4_k(Bytes b, float* y) {
    const float d = half(b), least = half(b + 2);
    for (int group = 0; group < 8; ++group) {
        const ScaleMin s = scale_min(b + 4, group);
        const float scale = d * s.scale, offset = least * s.least;
        Bytes q = b + 16 + 32 * (group / 2);
        const int shift = 4 * (group % 2);
        for (int i = 0; i < 32; ++i) y[32 * group + i] = scale * static_cast<float>(q[i] >> shift & 15) - offset;
    }
}

void q5_k(Bytes b, float* y) {
    const float d = half(b), least = half(b + 2);
    Bytes high = b + 16;
    for (int group = 0; group < 8; ++group) {
        const ScaleMin s = scale_min(b + 4, group);
        const float scale = d * s.scale, offset = least * s.least;
        Bytes q = b + 48 + 32 * (group / 2);
        const int shift = 4 * (group % 2);
        for (int i = 0; i < 32; ++i)
            y[32 * group + i] = scale * static_cast<float>((q[i] >> shift & 15) | (high[i] >> group & 1) << 4) - offset;
    }
}

void q6_k(Bytes b, float* y) {
    const float d = half(b + 208);
    for (int run = 0; run < 8; ++run) {  // 32 numbers each
        Bytes low = b + 64 * (run / 4) + 32 * (run % 2), high = b + 128 + 32 * (run / 4);
        const int low_shift = run % 4 < 2 ? 0 : 4, high_shift = 2 * (run % 4);
        for (int i = 0; i < 32; ++i) {
            const float scale = d * signed_byte(b[192 + 2 * run + i / 16]);
            const int six = (low[i] >> low_shift & 15) | (high[i] >> high_shift & 3) << 4;
            y[32 * run + i] = scale * static_cast<float>(six - 32);
        }
    }
}

constexpr std::array<std::int8_t, 16> kNonLinear = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void iq4_nl(Bytes b, float* y) {
    const float d = half(b);
    for (int i = 0; i < 16; ++i) {
        y[i] = d * static_cast<float>(kNonLinear[b[2 + i] & 15]);
        y[i + 16] = d * static_cast<float>(kNonLinear[b[2 + i] >> 4]);
    }
}

void iq4_xs(Bytes b, float* y) {
    const float d = half(b);
    const int high = b[2] | b[3] << 8;
    for (int group = 0; group < 8; ++group) {
        const int low = b[4 + group / 2] >> (4 * (group % 2)) & 15;
        const float scale = d * static_cast<float>((low | (high >> (2 * group) & 3) << 4) - 32);
        Bytes q = b + 8 + 16 * group;
        for (int i = 0; i < 16; ++i) {
            y[32 * group + i] = scale * static_cast<float>(kNonLinear[q[i] & 15]);
            y[32 * group + i + 16] = scale * static_cast<float>(kNonLinear[q[i] >> 4]);
        }
    }
}

/// OCP microscaling: 4-bit floats (doubled, so that they are whole) with one power of two, which is halved.
void mxfp4(Bytes b, float* y) {
    static constexpr std::array<std::int8_t, 16> kDoubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    const std::uint32_t e = b[0];
    const float d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    for (int i = 0; i < 16; ++i) {
        y[i] = d * static_cast<float>(kDoubled[b[1 + i] & 15]);
        y[i + 16] = d * static_cast<float>(kDoubled[b[1 + i] >> 4]);
    }
}

/// The block function is known when compiled, so that short blocks are inlined into the loop.
template <void (*Block)(Bytes, float*), std::int64_t Size, std::int64_t Elements>
void all(Bytes b, std::size_t bytes, float* y) {
    for (const Bytes end = b + bytes; b < end; b += Size, y += Elements) Block(b, y);
}

}  // namespace

void dequantize(GgmlType type, std::span<const std::byte> blocks, float* out) {
    const Bytes b = reinterpret_cast<Bytes>(blocks.data());
    const std::size_t n = blocks.size();
    switch (type) {
        case GgmlType::F32: return all<f32, 4, 1>(b, n, out);
        case GgmlType::F16: return all<f16, 2, 1>(b, n, out);
        case GgmlType::BF16: return all<bf16, 2, 1>(b, n, out);
        case GgmlType::F64: return all<f64, 8, 1>(b, n, out);
        case GgmlType::Q4_0: return all<q4_0, 18, 32>(b, n, out);
        case GgmlType::Q4_1: return all<q4_1, 20, 32>(b, n, out);
        case GgmlType::Q5_0: return all<q5_0, 22, 32>(b, n, out);
        case GgmlType::Q5_1: return all<q5_1, 24, 32>(b, n, out);
        case GgmlType::Q8_0: return all<q8_0, 34, 32>(b, n, out);
        case GgmlType::Q2_K: return all<q2_k, 84, 256>(b, n, out);
        case GgmlType::Q3_K: return all<q3_k, 110, 256>(b, n, out);
        case GgmlType::Q4_K: return all<q4_k, 144, 256>(b, n, out);
        case GgmlType::Q5_K: return all<q5_k, 176, 256>(b, n, out);
        case GgmlType::Q6_K: return all<q6_k, 210, 256>(b, n, out);
        case GgmlType::IQ4_NL: return all<iq4_nl, 18, 32>(b, n, out);
        case GgmlType::IQ4_XS: return all<iq4_xs, 136, 256>(b, n, out);
        case GgmlType::MXFP4: return all<mxfp4, 17, 32>(b, n, out);
    }
    throw Error("A tensor of a type that cannot be read");
}

}  // namespace headlight::io
