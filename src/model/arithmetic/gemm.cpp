// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products, large ones and small ones inside a parallel loop. oneDNN or the BLAS itself where they can be
// reached, which costs nothing per call; a LibTorch that includes a BLAS is called through ATen.
#include "headlight/model/blas_kernels.h"
#include "headlight/model/same_products.h"
#include "model/arithmetic/kernels.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

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

/// oneDNN's row-major sgemm.
using OneDnn = int (*)(char, char, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t, const float*,
                       std::int64_t, float, float*, std::int64_t);

/// Null where the BLAS is to be used.
OneDnn onednn() {
    static const OneDnn found = [] {
        const char* chosen = std::getenv("HEADLIGHT_PRODUCTS");
        if (!prefers_onednn(has_avx512(), chosen ? chosen : "")) return OneDnn{};
        return reinterpret_cast<OneDnn>(::dlsym(RTLD_DEFAULT, "dnnl_sgemm"));  // Debian's LibTorch brings it along
    }();
    return found;
}

/// False: oneDNN would not.
bool onednn_product(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, bool transposed, float* c,
                    std::int64_t ldc, std::int64_t m, std::int64_t n, std::int64_t k) {
    const char turned = transposed ? 'T' : 'N';
    // A vocabulary: a strip of columns a thread is 15 % faster than all threads at one strip after another. The same
    // strips for any number of threads, so that the numbers do not depend on it.
    constexpr std::int64_t kWide = 8192, kStrip = 768;
    if (n < kWide) return onednn()('N', turned, m, n, k, 1, a, lda, b, ldb, 0, c, ldc) == 0;
    std::atomic<bool> done = true;
    at::parallel_for(0, (n + kStrip - 1) / kStrip, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i * kStrip, width = std::min(kStrip, n - first);
            const float* columns = b + (transposed ? first * ldb : first);
            if (onednn()('N', turned, m, width, k, 1, a, lda, columns, ldb, 0, c + first, ldc) != 0) done = false;
        }
    });
    return done;
}

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
    if (onednn() && onednn_product(a, lda, b, ldb, transposed, c, ldc, m, n, k)) return;
    product<float>(sgemm_, a, lda, b, ldb, transposed, c, ldc, m, n, k);
}

void gemm(const double* a, std::int64_t lda, const double* b, std::int64_t ldb, bool transposed, double* c, std::int64_t ldc,
          std::int64_t m, std::int64_t n, std::int64_t k) {
    product<double>(dgemm_, a, lda, b, ldb, transposed, c, ldc, m, n, k);
}

}  // namespace headlight::model::kernels

namespace headlight::model {

std::string product_library() {
    if (kernels::onednn()) return "oneDNN";
    return blas_kernels().empty() ? "LibTorch" : "OpenBLAS";
}

namespace {

bool plain(const at::Tensor& t) {
    return t.is_cpu() && t.scalar_type() == at::kFloat && !(t.requires_grad() && at::GradMode::is_enabled());
}

bool for_onednn(const at::Tensor& a, const at::Tensor& b) {
    return kernels::onednn() && plain(a) && plain(b) && a.stride(1) == 1 && (b.stride(1) == 1 || b.stride(0) == 1);
}

thread_local int t_same_products = 0;

bool in_same_tiles(const at::Tensor& a, const at::Tensor& b) {
    return t_same_products > 0 && plain(a) && plain(b) && a.stride(1) == 1 && (b.stride(1) == 1 || b.stride(0) == 1);
}

/// [rows, columns] of a tile: small enough for 64 threads at a width of 4096, large enough that packing costs little.
constexpr std::int64_t kTileRows = 256, kTileColumns = 128;

void product_in_tiles(const at::Tensor& a, const at::Tensor& b, bool turned, at::Tensor& out) {
    const std::int64_t m = a.size(0), n = b.size(1), k = a.size(1), ldb = b.stride(turned ? 1 : 0);
    const std::int64_t across = (n + kTileColumns - 1) / kTileColumns, down = (m + kTileRows - 1) / kTileRows;
    const float *as = a.data_ptr<float>(), *bs = b.data_ptr<float>();
    float* const outs = out.data_ptr<float>();
    at::parallel_for(0, across * down, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t tile = begin; tile < end; ++tile) {
            const std::int64_t row = tile / across * kTileRows, column = tile % across * kTileColumns;
            kernels::gemm(as + row * a.stride(0), a.stride(0), bs + (turned ? column * ldb : column), ldb, turned,
                          outs + row * n + column, n, std::min(kTileRows, m - row), std::min(kTileColumns, n - column), k);
        }
    });
}

}  // namespace

SameProducts::SameProducts() noexcept { ++t_same_products; }
SameProducts::~SameProducts() { --t_same_products; }

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
    return (for_onednn(a, b) || in_same_tiles(a, b)) && plain(bias) ? matrix_product(a, b).add_(bias) : at::addmm(bias, a, b);
}

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b) {
    const bool same = in_same_tiles(a, b);
    if (!same && !for_onednn(a, b)) return at::mm(a, b);
    const bool turned = b.stride(1) != 1;  // kept as [n, k]
    at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
    if (same) {
        product_in_tiles(a, b, turned, out);
        return out;
    }
    kernels::gemm(a.data_ptr<float>(), a.stride(0), b.data_ptr<float>(), b.stride(turned ? 1 : 0), turned, out.data_ptr<float>(),
                  out.size(1), a.size(0), out.size(1), a.size(1));
    return out;
}

}  // namespace headlight::model
