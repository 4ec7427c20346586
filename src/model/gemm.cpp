// SPDX-License-Identifier: GPL-3.0-or-later
// Small matrix products inside a parallel loop. The BLAS itself where it can be reached, which costs nothing per call;
// a LibTorch with a BLAS of its own inside is asked through ATen.
#include "model/kernels.h"

#include <ATen/ATen.h>

extern "C" {
__attribute__((weak)) void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                                  const int*, const float*, const int*, const float*, float*, const int*);
__attribute__((weak)) void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                                  const int*, const double*, const int*, const double*, double*, const int*);
}

namespace headlight::model::kernels {
namespace {

template <class T>
using Blas = void (*)(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*, const T*,
                      const int*, const T*, T*, const int*);

template <class T>
void product(Blas<T> blas, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, bool transposed, T* c, std::int64_t ldc,
             std::int64_t m, std::int64_t n, std::int64_t k) {
    if (blas) {  // column-major: C^T = op(B)^T A^T
        const int rows = static_cast<int>(n), cols = static_cast<int>(m), inner = static_cast<int>(k);
        const int a_step = static_cast<int>(lda), b_step = static_cast<int>(ldb), c_step = static_cast<int>(ldc);
        const T one = 1, zero = 0;
        blas(transposed ? "T" : "N", "N", &rows, &cols, &inner, &one, b, &b_step, a, &a_step, &zero, c, &c_step);
        return;
    }
    const auto options = at::TensorOptions(c10::CppTypeToScalarType<T>::value);
    const auto view = [&](const T* data, std::int64_t r, std::int64_t s, std::int64_t step) {
        return at::from_blob(const_cast<T*>(data), {r, s}, {step, 1}, options);
    };
    at::Tensor out = view(c, m, n, ldc);
    at::mm_out(out, view(a, m, k, lda), transposed ? view(b, n, k, ldb).t() : view(b, k, n, ldb));
}

}  // namespace

void gemm(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, bool transposed, float* c, std::int64_t ldc,
          std::int64_t m, std::int64_t n, std::int64_t k) {
    product<float>(sgemm_, a, lda, b, ldb, transposed, c, ldc, m, n, k);
}

void gemm(const double* a, std::int64_t lda, const double* b, std::int64_t ldb, bool transposed, double* c, std::int64_t ldc,
          std::int64_t m, std::int64_t n, std::int64_t k) {
    product<double>(dgemm_, a, lda, b, ldb, transposed, c, ldc, m, n, k);
}

}  // namespace headlight::model::kernels
