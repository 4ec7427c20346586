// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/internals.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace headlight::model {
namespace {

/// Cholesky's factor of a symmetric [n, n] matrix without negative eigenvalues, in place. Where W_O does not reach
/// every direction a pivot is nothing but rounding: its column is left out, and the product stays right.
void factorise(double* a, std::int64_t n) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, a[i * n + i]);
    const double nothing = largest * 1e-13;
    for (std::int64_t j = 0; j < n; ++j) {
        const double pivot = a[j * n + j];
        const double root = pivot > nothing ? std::sqrt(pivot) : 0.0;
        for (std::int64_t i = j; i < n; ++i) a[i * n + j] = root > 0 ? a[i * n + j] / root : 0.0;
        for (std::int64_t i = j + 1; i < n; ++i)
            for (std::int64_t k = j + 1; k <= i; ++k) a[i * n + k] -= a[i * n + j] * a[k * n + j];
        for (std::int64_t k = j + 1; k < n; ++k) a[j * n + k] = 0.0;
    }
}

}  // namespace

at::Tensor length_factors(const Model::Internals& model, Layer layer) {
    const auto at = static_cast<std::size_t>(layer.value);
    const std::lock_guard lock(model.length_factors_mutex);
    if (model.length_factors.empty()) model.length_factors.resize(model.layers.size());
    if (model.length_factors[at].defined()) return model.length_factors[at];
    const at::NoGradGuard no_grad;
    const at::Tensor w_o = weights_of(model, layer, LayerPart::attention)->o.weight.to(at::kCPU);
    const std::int64_t heads = model.config.n_heads, d = w_o.size(0) / heads;
    at::Tensor factors = at::empty({heads, d, d}, at::kFloat);
    at::parallel_for(0, heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h) {
            const at::Tensor w = w_o.narrow(0, h * d, d).to(at::kDouble);
            at::Tensor gram = at::mm(w, w.t()).contiguous();
            factorise(gram.data_ptr<double>(), d);
            factors.select(0, h).copy_(gram);
        }
    });
    return model.length_factors[at] = factors;
}

}  // namespace headlight::model
