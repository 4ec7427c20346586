// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/kernels.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "headlight/base/lanes.h"

#define HEADLIGHT_INLINE inline __attribute__((always_inline))

namespace headlight::model::kernels {
namespace {

constexpr float kHighest = 88.0f;

// exp for float, vectorisable: 2^n times a polynomial of the remainder (Cody and Waite's reduction); error below 2 ulp.
// Below the smallest normal number it gives 0. Of x <= kHighest, which every x <= 0 is.
HEADLIGHT_INLINE constexpr float exponential_up_to_88(float x) {
    constexpr float kLowest = -87.336544f;
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number in the low bits
    const float shifted = x * std::numbers::log2e_v<float> + kRound;
    const float n = shifted - kRound;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    // In whole numbers: n is added to p's exponent (NaN stays NaN), and a compiler that knew the result to be unused for some x
    // would mask every step.
    const std::uint32_t result = std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(shifted) << 23);
    return std::bit_cast<float>(result & (x < kLowest ? 0u : ~0u));
}
/// In whole numbers: of a condition between floats a compiler makes a branch where one side is a constant or takes long, and
/// then computes one number at a time.
HEADLIGHT_INLINE float either(bool first, float a, float b) {
    const std::uint32_t mask = first ? ~0u : 0u;
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) & mask) | (std::bit_cast<std::uint32_t>(b) & ~mask));
}
HEADLIGHT_INLINE float exponential(float x) {
    return either(x > kHighest, exponential_up_to_88(kHighest), exponential_up_to_88(x));  // NaN stays NaN
}
HEADLIGHT_INLINE double exponential_up_to_88(double x) { return std::exp(x); }
HEADLIGHT_INLINE double exponential(double x) { return std::exp(x); }

// tanh for float, vectorisable: below 0.7 x times a polynomial of x^2, whose largest error is minimal (1.3e-8 x); error below
// 1.2e-7.
HEADLIGHT_INLINE float hyperbolic_tangent(float x) {
    const float size = std::fabs(x), s = x * x;
    float near = -5.10528311e-3f;
    near = near * s + 2.00452544e-2f;
    near = near * s - 5.35349473e-2f;
    near = near * s + 1.33285716e-1f;
    near = near * s - 3.33331406e-1f;
    near = near * s + 1.0f;
    const float far = 1.0f - 2.0f / (1.0f + exponential(2.0f * size));
    return either(size < 0.7f, near * x, std::copysign(far, x));
}
HEADLIGHT_INLINE double hyperbolic_tangent(double x) { return std::tanh(x); }

/// 1 / (1 + exp(-x))
template <class T>
HEADLIGHT_INLINE T sigmoid(T x) {
    return T(1) / (T(1) + exponential(-x));
}

template <class T>
HEADLIGHT_INLINE T gelu_tanh(T x, T root) {
    // 0.5 x (1 + tanh u) = x sigmoid(2 u)
    const T u = root * (x + T(0.044715) * x * x * x);
    return x * sigmoid(T(2) * u);
}

template <class T>
HEADLIGHT_INLINE T act(T x, Activation a) {
    switch (a) {
        case Activation::gelu_tanh: return gelu_tanh(x, static_cast<T>(std::sqrt(2.0 / std::numbers::pi)));
        case Activation::gelu_bloom: return gelu_tanh(x, T(0.79788456));
        case Activation::silu: return x * sigmoid(x);
        case Activation::quick_gelu: return x * sigmoid(T(1.702) * x);
        case Activation::tanh: return hyperbolic_tangent(x);
        case Activation::relu: return x < T(0) ? T(0) : x;
        case Activation::relu_squared: return x < T(0) ? T(0) : x * x;
        case Activation::xielu:  // has parameters: not a kernel
        case Activation::gelu: break;
    }
    return T(0.5) * x * (T(1) + std::erf(x * static_cast<T>(1.0 / std::numbers::sqrt2)));
}

template <class T>
HEADLIGHT_INLINE void scores_row(T* __restrict x, std::int64_t n, T scale, T slope, std::int64_t row) {
    const auto n32 = static_cast<std::int32_t>(n), row32 = static_cast<std::int32_t>(row);
    for (std::int32_t j = 0; j < n32; ++j) x[j] = scale * x[j] + slope * static_cast<T>(j - row32);
}

template <class T>
HEADLIGHT_INLINE void softcap_row(T* __restrict x, std::int64_t n, T cap) {
    for (std::int64_t j = 0; j < n; ++j) x[j] = cap * hyperbolic_tangent(x[j] / cap);
}

/// Long sums are added up in double after every stretch of this many floats.
constexpr std::int64_t kStretch = 1024;

/// x[j] = exp(x[j] - highest). Returns the sums of these and, with kLogs, of (x[j] - highest) times these.
template <bool kLogs, class T>
HEADLIGHT_INLINE std::array<double, 2> exponentials(T* __restrict x, std::int64_t n, T highest) {
    constexpr T least = -100;  // exp() of less is 0
    std::array<double, 2> sums{};
    for (std::int64_t first = 0; first < n; first += kStretch) {
        const std::int64_t last = first + kStretch < n ? first + kStretch : n;
        T sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
        for (std::int64_t j = first; j < last; ++j) {
            const T below = x[j] - highest;
            x[j] = exponential_up_to_88(below);
            sum += x[j];
            if constexpr (kLogs) weighted += x[j] * (below < least ? least : below);
        }
        sums[0] += static_cast<double>(sum);
        sums[1] += static_cast<double>(weighted);
    }
    return sums;
}

/// Of x[0, n) and `at_least`; NaN counts as nothing. Several at a time: each maximum waits for the one before it.
template <class T>
HEADLIGHT_INLINE T largest_of(const T* __restrict x, std::int64_t n, T at_least) {
    constexpr std::int64_t kAtOnce = 64;
    T highest = at_least;
    std::int64_t j = 0;
    if (n >= kAtOnce) {
        T each[kAtOnce];
        for (T& value : each) value = at_least;
        for (; j + kAtOnce <= n; j += kAtOnce)
            for (std::int64_t k = 0; k < kAtOnce; ++k) each[k] = x[j + k] > each[k] ? x[j + k] : each[k];
#pragma omp simd reduction(max : highest)
        for (std::int64_t k = 0; k < kAtOnce; ++k) highest = each[k] > highest ? each[k] : highest;
    }
#pragma omp simd reduction(max : highest)
    for (std::int64_t k = j; k < n; ++k) highest = x[k] > highest ? x[k] : highest;
    return highest;
}

template <class T>
HEADLIGHT_INLINE T softmax_row(T* __restrict x, std::int64_t n, std::int64_t width, T sink, RowLogs* logs) {
    constexpr T none = -std::numeric_limits<T>::infinity();
    const T highest = largest_of(x, n, sink);
    const T beside = sink > none ? exponential(sink - highest) : T(0);
    const auto [sum, weighted] = logs ? exponentials<true>(x, n, highest) : exponentials<false>(x, n, highest);
    const T factor = T(1) / static_cast<T>(static_cast<double>(beside) + sum);
    for (std::int64_t j = 0; j < n; ++j) x[j] *= factor;
    for (std::int64_t j = n; j < width; ++j) x[j] = 0;
    const auto each = static_cast<double>(factor);
    if (logs && n > 0) *logs = {weighted * each, std::log(each)};
    return beside * factor;
}

template <Activation A, class T>
HEADLIGHT_INLINE void activate_as(T* __restrict pre, const T* __restrict bias, T* __restrict post, std::int64_t n) {
    if (bias)
        for (std::int64_t j = 0; j < n; ++j) pre[j] += bias[j];
    for (std::int64_t j = 0; j < n; ++j) post[j] = act(pre[j], A);
}

template <class T>
HEADLIGHT_INLINE void activate_row(T* pre, const T* bias, T* post, std::int64_t n, Activation a) {
    switch (a) {
        case Activation::gelu: return activate_as<Activation::gelu>(pre, bias, post, n);
        case Activation::gelu_tanh: return activate_as<Activation::gelu_tanh>(pre, bias, post, n);
        case Activation::gelu_bloom: return activate_as<Activation::gelu_bloom>(pre, bias, post, n);
        case Activation::relu: return activate_as<Activation::relu>(pre, bias, post, n);
        case Activation::silu: return activate_as<Activation::silu>(pre, bias, post, n);
        case Activation::quick_gelu: return activate_as<Activation::quick_gelu>(pre, bias, post, n);
        case Activation::tanh: return activate_as<Activation::tanh>(pre, bias, post, n);
        case Activation::relu_squared: return activate_as<Activation::relu_squared>(pre, bias, post, n);
        case Activation::xielu: return;
    }
}

template <class T>
HEADLIGHT_INLINE void add_bias_row(const T* __restrict x, const T* __restrict bias, T* __restrict out, std::int64_t n) {
    if (bias)
        for (std::int64_t j = 0; j < n; ++j) out[j] = x[j] + bias[j];
    else
        for (std::int64_t j = 0; j < n; ++j) out[j] = x[j];
}

template <class T>
HEADLIGHT_INLINE Moments moments_row(const T* __restrict x, std::int64_t n, double eps, bool centred) {
    double mean = 0;
    if (centred) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(x[j]);
        mean = sum / static_cast<double>(n);
    }
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t j = 0; j < n; ++j) {
        const double d = static_cast<double>(x[j]) - mean;
        squares += d * d;
    }
    return {mean, std::sqrt(squares / static_cast<double>(n) + eps)};
}

template <class T>
HEADLIGHT_INLINE void normalize_row(const T* __restrict x, T mean, T scale, T* __restrict out, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) out[j] = (x[j] - mean) / scale;
}

template <class T>
HEADLIGHT_INLINE void affine_row(const T* __restrict x, const T* __restrict gain, const T* __restrict bias, T* __restrict out,
                                 std::int64_t n) {
    if (bias)
        for (std::int64_t j = 0; j < n; ++j) out[j] = x[j] * gain[j] + bias[j];
    else
        for (std::int64_t j = 0; j < n; ++j) out[j] = x[j] * gain[j];
}

template <class T>
HEADLIGHT_INLINE std::int64_t not_finite_row(const T* __restrict x, std::int64_t n) {
    int bad = 0;
#pragma omp simd reduction(| : bad)
    for (std::int64_t j = 0; j < n; ++j) bad |= !(x[j] - x[j] == T(0));
    if (!bad) return -1;
    for (std::int64_t j = 0; j < n; ++j)
        if (!std::isfinite(x[j])) return j;
    return -1;
}

HEADLIGHT_INLINE ExpSums exp_sums_row(const float* __restrict x, std::int64_t n, float highest) {
    ExpSums all{0, 0};
    for (std::int64_t first = 0; first < n; first += kStretch) {
        const std::int64_t last = first + kStretch < n ? first + kStretch : n;
        float sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
        for (std::int64_t j = first; j < last; ++j) {
            const float below = x[j] - highest, e = exponential_up_to_88(below);
            sum += e;
            weighted += below * e;
        }
        all.sum += static_cast<double>(sum);
        all.weighted += static_cast<double>(weighted);
    }
    return all;
}

template <bool largest>
HEADLIGHT_INLINE void block_extremes(const float* __restrict x, std::int64_t n, float* __restrict out) {
    for (std::int64_t b = 0; b * kBlock < n; ++b) {
        const std::int64_t first = b * kBlock, last = first + kBlock < n ? first + kBlock : n;
        float best = x[first];
        if constexpr (largest) {
#pragma omp simd reduction(max : best)
            for (std::int64_t j = first; j < last; ++j) best = x[j] > best ? x[j] : best;
        } else {
#pragma omp simd reduction(min : best)
            for (std::int64_t j = first; j < last; ++j) best = x[j] < best ? x[j] : best;
        }
        out[b] = best;
    }
}

HEADLIGHT_INLINE double dot_row(const float* __restrict a, const float* __restrict b, std::int64_t n) {
    double all = 0;
    for (std::int64_t first = 0; first < n; first += kStretch) {
        const std::int64_t last = first + kStretch < n ? first + kStretch : n;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = first; j < last; ++j) sum += a[j] * b[j];
        all += static_cast<double>(sum);
    }
    return all;
}

HEADLIGHT_INLINE double distance_row(const float* __restrict x, float scale, const float* __restrict y, std::int64_t n) {
    // In float64: one huge component (a massive activation) would otherwise swallow what is subtracted from it.
    const double factor = static_cast<double>(scale);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < n; ++j) {
        const double d = static_cast<double>(x[j]) - factor * static_cast<double>(y[j]);
        sum += d < 0.0 ? -d : d;
    }
    return sum;
}

template <class Counts>
HEADLIGHT_INLINE std::int64_t count_row(const float* __restrict x, std::int64_t n, const Counts& counts) {
    std::int64_t all = 0;
    for (std::int64_t first = 0; first < n; first += kStretch) {
        const std::int64_t last = first + kStretch < n ? first + kStretch : n;
        std::int32_t count = 0;
#pragma omp simd reduction(+ : count)
        for (std::int64_t j = first; j < last; ++j) count += counts(x[j]) ? 1 : 0;
        all += count;
    }
    return all;
}

}  // namespace

HEADLIGHT_WIDE ExpSums exp_sums(const float* x, std::int64_t n, float highest) { return exp_sums_row(x, n, highest); }
HEADLIGHT_WIDE void block_maxima(const float* x, std::int64_t n, float* out) { block_extremes<true>(x, n, out); }
HEADLIGHT_WIDE void block_minima(const float* x, std::int64_t n, float* out) { block_extremes<false>(x, n, out); }
HEADLIGHT_WIDE double dot(const float* a, const float* b, std::int64_t n) { return dot_row(a, b, n); }
HEADLIGHT_WIDE double distance(const float* x, float scale, const float* y, std::int64_t n) {
    return distance_row(x, scale, y, n);
}
HEADLIGHT_WIDE std::int64_t count_above(const float* x, std::int64_t n, float than) {
    return count_row(
        x, n, [than](float v) __attribute__((always_inline)) { return v > than; });
}
HEADLIGHT_WIDE std::int64_t count_below(const float* x, std::int64_t n, float than) {
    return count_row(
        x, n, [than](float v) __attribute__((always_inline)) { return v < than; });
}

HEADLIGHT_WIDE void scores(float* x, std::int64_t n, float scale, float slope, std::int64_t row) {
    scores_row(x, n, scale, slope, row);
}
void scores(double* x, std::int64_t n, double scale, double slope, std::int64_t row) { scores_row(x, n, scale, slope, row); }

HEADLIGHT_WIDE void softcap(float* x, std::int64_t n, float cap) { softcap_row(x, n, cap); }
void softcap(double* x, std::int64_t n, double cap) { softcap_row(x, n, cap); }

HEADLIGHT_WIDE float softmax(float* x, std::int64_t n, std::int64_t width, float sink, RowLogs* logs) {
    return softmax_row(x, n, width, sink, logs);
}
double softmax(double* x, std::int64_t n, std::int64_t width, double sink, RowLogs* logs) {
    return softmax_row(x, n, width, sink, logs);
}

HEADLIGHT_WIDE void activate(float* pre, const float* bias, float* post, std::int64_t n, Activation a) {
    activate_row(pre, bias, post, n, a);
}
void activate(double* pre, const double* bias, double* post, std::int64_t n, Activation a) {
    activate_row(pre, bias, post, n, a);
}

HEADLIGHT_WIDE void add_bias(const float* x, const float* bias, float* out, std::int64_t n) { add_bias_row(x, bias, out, n); }
void add_bias(const double* x, const double* bias, double* out, std::int64_t n) { add_bias_row(x, bias, out, n); }

HEADLIGHT_WIDE Moments moments(const float* x, std::int64_t n, double eps, bool centred) {
    return moments_row(x, n, eps, centred);
}
Moments moments(const double* x, std::int64_t n, double eps, bool centred) { return moments_row(x, n, eps, centred); }

HEADLIGHT_WIDE void normalize(const float* x, float mean, float scale, float* out, std::int64_t n) {
    normalize_row(x, mean, scale, out, n);
}
void normalize(const double* x, double mean, double scale, double* out, std::int64_t n) { normalize_row(x, mean, scale, out, n); }

HEADLIGHT_WIDE void affine(const float* x, const float* gain, const float* bias, float* out, std::int64_t n) {
    affine_row(x, gain, bias, out, n);
}
void affine(const double* x, const double* gain, const double* bias, double* out, std::int64_t n) {
    affine_row(x, gain, bias, out, n);
}

HEADLIGHT_WIDE std::int64_t first_not_finite(const float* x, std::int64_t n) { return not_finite_row(x, n); }
std::int64_t first_not_finite(const double* x, std::int64_t n) { return not_finite_row(x, n); }

}  // namespace headlight::model::kernels
