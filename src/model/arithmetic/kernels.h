// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU's inner loops, float and double, one row at a time so that callers decide how rows go to threads.
// Every function gives the same bits for the same row, whoever calls it.
#pragma once

#include "headlight/model/config.h"

#include <cstdint>

namespace headlight::model {

/// What a softmax knows of its row p without another logarithm: sum p ln p = weighted + factor sum p.
struct RowLogs {
    double weighted = 0, factor = 0;
};

}  // namespace headlight::model

namespace headlight::model::kernels {

/// x[j] = scale x[j] - slope (row - j) for j in [0, n): a raw product becomes a score (slope 0: no ALiBi).
void scores(float* x, std::int64_t n, float scale, float slope, std::int64_t row);
void scores(double* x, std::int64_t n, double scale, double slope, std::int64_t row);

/// x[j] = cap tanh(x[j] / cap) for j in [0, n).
void softcap(float* x, std::int64_t n, float cap);
void softcap(double* x, std::int64_t n, double cap);

/// Softmax in place over x[0, n); x[n, width) becomes exactly 0. `sink` is one more score that takes its share, which is
/// returned (-inf: none, 0). Equal bits with `logs` and without.
float softmax(float* x, std::int64_t n, std::int64_t width, float sink, RowLogs* logs = nullptr);
double softmax(double* x, std::int64_t n, std::int64_t width, double sink, RowLogs* logs = nullptr);

/// pre[j] += bias[j] (bias may be null), post[j] = act(pre[j]).
void activate(float* pre, const float* bias, float* post, std::int64_t n, Activation);
void activate(double* pre, const double* bias, double* post, std::int64_t n, Activation);

/// out[j] = x[j] + bias[j]; bias may be null.
void add_bias(const float* x, const float* bias, float* out, std::int64_t n);
void add_bias(const double* x, const double* bias, double* out, std::int64_t n);

/// Mean (0 when not `centred`) and sqrt(mean((x - mean)^2) + eps).
struct Moments {
    double mean, scale;
};
Moments moments(const float* x, std::int64_t n, double eps, bool centred);
Moments moments(const double* x, std::int64_t n, double eps, bool centred);
/// out[j] = (x[j] - mean) / scale
void normalize(const float* x, float mean, float scale, float* out, std::int64_t n);
void normalize(const double* x, double mean, double scale, double* out, std::int64_t n);
/// out[j] = x[j] gain[j] + bias[j]; bias may be null.
void affine(const float* x, const float* gain, const float* bias, float* out, std::int64_t n);
void affine(const double* x, const double* gain, const double* bias, double* out, std::int64_t n);

/// Index of the first NaN or Inf, or -1.
std::int64_t first_not_finite(const float* x, std::int64_t n);
std::int64_t first_not_finite(const double* x, std::int64_t n);

/// What a distribution over a vocabulary is made of, from its raw logits x[0, n): sums of e and (x - highest) e with
/// e = exp(x - highest). ln sum + highest is the log partition; ln sum - weighted / sum the entropy in nats.
struct ExpSums {
    double sum, weighted;
};
ExpSums exp_sums(const float* x, std::int64_t n, float highest);
/// out[b] = the largest of x[64 b, 64 b + 64), (n + 63) / 64 of them; smallest likewise.
constexpr std::int64_t kBlock = 64;
void block_maxima(const float* x, std::int64_t n, float* out);
void block_minima(const float* x, std::int64_t n, float* out);
/// sum of a[j] b[j], added up in double.
double dot(const float* a, const float* b, std::int64_t n);
/// sum of |x[j] - scale y[j]|, in double throughout.
double distance(const float* x, float scale, const float* y, std::int64_t n);
/// How many of x[0, n) are larger than `than`.
std::int64_t count_above(const float* x, std::int64_t n, float than);
/// Smaller.
std::int64_t count_below(const float* x, std::int64_t n, float than);

/// C [m, n] = A [m, k] op(B), row-major, leading dimensions in elements. op: B is [k, n], or with `transposed` [n, k].
/// One thread when called from inside a parallel region.
void gemm(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, bool transposed, float* c, std::int64_t ldc,
          std::int64_t m, std::int64_t n, std::int64_t k);
void gemm(const double* a, std::int64_t lda, const double* b, std::int64_t ldb, bool transposed, double* c, std::int64_t ldc,
          std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace headlight::model::kernels
