// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products, large ones and small ones inside a parallel loop. oneDNN or the BLAS itself where they can be
// reached, which costs nothing per call; a LibTorch that includes a BLAS is called through ATen.
#include "headlight/base/working_for.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/one_thread.h"
#include "headlight/model/runtime.h"
#include "headlight/model/same_products.h"
#include "model/arithmetic/each_tile.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/signal_stack.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <limits>

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
    if (onednn()) {
        have_signal_stack();
        if (onednn_product(a, lda, b, ldb, transposed, c, ldc, m, n, k)) return;
    }
    product<float>(sgemm_, a, lda, b, ldb, transposed, c, ldc, m, n, k);
}

namespace {

/// The BLAS's product with the rows of A as the rows of its column-major result: C^T, [n, ldc] in memory.
void gemm_of_rows(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, bool transposed, float* c, std::int64_t ldc,
                  std::int64_t m, std::int64_t n, std::int64_t k) {
    const int rows = static_cast<int>(m), cols = static_cast<int>(n), inner = static_cast<int>(k);
    const int a_step = static_cast<int>(lda), b_step = static_cast<int>(ldb), c_step = static_cast<int>(ldc);
    const float one = 1, zero = 0;
    sgemm_("T", transposed ? "N" : "T", &rows, &cols, &inner, &one, a, &a_step, b, &b_step, &zero, c, &c_step);
}

}  // namespace

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

thread_local int t_same_products = 0, t_same_rows = 0;

bool in_same_tiles(const at::Tensor& a, const at::Tensor& b) {
    return t_same_products > 0 && plain(a) && plain(b) && a.stride(1) == 1 && (b.stride(1) == 1 || b.stride(0) == 1);
}

/// [rows, columns] of a tile: small enough for many threads, large enough that packing costs little. Where the library has to
/// turn the weights it needs more rows for the same rate.
constexpr std::int64_t kTileRows = 64, kTurnedTileRows = 128, kTileColumns = 384;

/// a [m, k] as rows of `rows`, with zeros before and behind the rows that it has.
at::Tensor padded(const at::Tensor& a, std::int64_t before, std::int64_t rows) {
    at::Tensor out = at::zeros({rows, a.size(1)}, a.options());
    out.narrow(0, before, a.size(0)).copy_(a);
    return out;
}

/// OpenBLAS's kernels for AVX2 sum the first and last eight rows of a column-major product in another order than those between
/// them, and its columns in orders that change every six. So rows whose bits must not depend on their place are rows of such a
/// product, between eight on either side that nobody reads.
constexpr std::int64_t kEdgeRows = 8;

/// False where rows have no such places: oneDNN's kernels for AVX-512. Its own for AVX2 have, and give way to the BLAS.
bool needs_edges() { return sgemm_ && !(kernels::onednn() && has_avx512()); }

/// product_in_tiles() of a BLAS with the same bits for a row wherever it stands. The edges of a tile are its neighbours' rows.
void product_of_rows(const at::Tensor& a, const at::Tensor& b, bool turned, at::Tensor& out) {
    const std::int64_t m = a.size(0), n = b.size(1), k = a.size(1), ldb = b.stride(turned ? 1 : 0);
    const std::int64_t rows = turned ? kTurnedTileRows : kTileRows, with_edges = rows + 2 * kEdgeRows;
    const std::int64_t across = (n + kTileColumns - 1) / kTileColumns, down = (m + rows - 1) / rows;
    const at::Tensor all = padded(a, kEdgeRows, down * rows + 2 * kEdgeRows);
    const float *as = all.data_ptr<float>(), *bs = b.data_ptr<float>();
    float* const outs = out.data_ptr<float>();
    for_each_tile(across * down, with_edges * std::min(kTileColumns, n), [&](std::int64_t index, float* tile) {
        const std::int64_t row = index % down * rows, column = index / down * kTileColumns;
        const std::int64_t used = std::min(rows, m - row), width = std::min(kTileColumns, n - column);
        kernels::gemm_of_rows(as + row * k, k, bs + (turned ? column * ldb : column), ldb, turned, tile, with_edges, with_edges,
                              width, k);
        constexpr std::int64_t kLine = 16;  // a cache line of a column
        for (std::int64_t first = 0; first < used; first += kLine)
            for (std::int64_t j = 0; j < width; ++j)
                for (std::int64_t r = first; r < std::min(first + kLine, used); ++r)
                    outs[(row + r) * n + column + j] = tile[j * with_edges + kEdgeRows + r];
    });
}

void product_in_tiles(const at::Tensor& a, const at::Tensor& b, bool turned, at::Tensor& out) {
    const std::int64_t m = a.size(0), n = b.size(1), k = a.size(1), ldb = b.stride(turned ? 1 : 0);
    const std::int64_t rows = turned ? kTurnedTileRows : kTileRows, whole = m / rows * rows;
    const std::int64_t across = (n + kTileColumns - 1) / kTileColumns, down = (m + rows - 1) / rows;
    // A library takes another way for few rows, and other bits come of it: a row's must not depend on how many there are.
    const bool pads = t_same_rows > 0 && whole < m;
    const at::Tensor rest = pads ? padded(a.narrow(0, whole, m - whole), 0, rows) : at::Tensor();
    at::Tensor rest_out = pads ? at::empty({rows, n}, out.options()) : at::Tensor();
    const float *as = a.data_ptr<float>(), *bs = b.data_ptr<float>();
    float* const outs = out.data_ptr<float>();
    for_each_tile(across * down, 0, [&](std::int64_t index, float*) {
        const std::int64_t row = index % down * rows, column = index / down * kTileColumns;
        const bool in_rest = pads && row == whole;
        const float* from = in_rest ? rest.data_ptr<float>() : as + row * k;
        float* to = in_rest ? rest_out.data_ptr<float>() : outs + row * n;
        kernels::gemm(from, k, bs + (turned ? column * ldb : column), ldb, turned, to + column, n,
                      in_rest ? rows : std::min(rows, m - row), std::min(kTileColumns, n - column), k);
    });
    if (pads) out.narrow(0, whole, m - whole).copy_(rest_out.narrow(0, 0, m - whole));
}

}  // namespace

SameProducts::SameProducts(Of of) noexcept : of_(of) {
    ++t_same_products;
    if (of_ == Of::row) ++t_same_rows;
}
SameProducts::~SameProducts() {
    --t_same_products;
    if (of_ == Of::row) --t_same_rows;
}
OneThread::OneThread() {
    at::internal::lazy_init_num_threads();  // or the first product of a new thread sets its own number
    before_ = omp_get_max_threads();
    omp_set_num_threads(1);
}
OneThread::~OneThread() { omp_set_num_threads(before_); }

bool SameProducts::of_rows() noexcept { return t_same_rows > 0; }

namespace {

/// Rows of a long product between two looks at whether it is still wanted: some tenth of a second, and enough of them to be as
/// fast as all at once. All of it where that is no longer. Sizes alone decide, so that equal products have equal bits.
std::int64_t rows_at_once(std::int64_t rows, std::int64_t columns, std::int64_t inner) {
    constexpr std::int64_t kAtOnce = std::int64_t{4} << 30, kFewest = 512;  // multiplications; rows
    const std::int64_t each = std::max<std::int64_t>(1, columns * inner);
    return rows <= 2 * kFewest || rows * each <= kAtOnce ? rows : std::max(kFewest, kAtOnce / each / kFewest * kFewest);
}

bool all_at_once(const at::Tensor& a, const at::Tensor& b) {
    return a.requires_grad() || b.requires_grad() || rows_at_once(a.size(0), b.size(1), a.size(1)) == a.size(0);
}

/// Calls product(rows of a, the same rows of the result) for all of them.
template <class Product>
at::Tensor in_parts(const at::Tensor& a, const at::Tensor& b, const Product& product) {
    const std::int64_t rows = a.size(0), some = rows_at_once(rows, b.size(1), a.size(1));
    at::Tensor out = at::empty({rows, b.size(1)}, a.options());
    for (std::int64_t row = 0; row < rows; row += some) {
        if (some < rows) WorkingFor::token().throw_if_cancelled();
        const std::int64_t count = std::min(some, rows - row);
        at::Tensor part = out.narrow(0, row, count);
        product(a.narrow(0, row, count), part);
    }
    return out;
}

}  // namespace

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
    if ((for_onednn(a, b) || in_same_tiles(a, b)) && plain(bias)) return matrix_product(a, b).add_(bias);
    if (bias.requires_grad() || all_at_once(a, b)) return at::addmm(bias, a, b);
    return in_parts(a, b, [&](const at::Tensor& rows, at::Tensor& out) { at::addmm_out(out, bias, rows, b); });
}

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b) {
    const bool turned = b.stride(1) != 1;  // kept as [n, k]
    if (in_same_tiles(a, b)) {
        at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
        if (t_same_rows > 0 && needs_edges())
            product_of_rows(a, b, turned, out);
        else
            product_in_tiles(a.contiguous(), b, turned, out);
        return out;
    }
    if (for_onednn(a, b))
        return in_parts(a, b, [&](const at::Tensor& rows, at::Tensor& out) {
            kernels::gemm(rows.data_ptr<float>(), rows.stride(0), b.data_ptr<float>(), b.stride(turned ? 1 : 0), turned,
                          out.data_ptr<float>(), out.size(1), out.size(0), out.size(1), rows.size(1));
        });
    if (all_at_once(a, b)) return at::mm(a, b);
    return in_parts(a, b, [&](const at::Tensor& rows, at::Tensor& out) { at::mm_out(out, rows, b); });
}

namespace {

/// Processor time of this thread, which has its share in every product.
double own_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

double product_rate() {
    static const double rate = [] {
        constexpr std::int64_t kSide = 512;
        constexpr int kTimes = 4;  // the first sets up threads
        const at::NoGradGuard no_grad;
        const at::Tensor a = at::ones({kSide, kSide});
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < kTimes; ++i) {
            const double start = own_seconds();
            matrix_product(a, a);
            least = std::min(least, std::max(own_seconds() - start, 1e-9));
        }
        return 2.0 * kSide * kSide * kSide / least;
    }();
    return rate;
}

}  // namespace headlight::model
