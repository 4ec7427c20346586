// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/own_gradients.h"

#include "headlight/base/flush_denormals.h"
#include "headlight/model/blas_kernels.h"
#include "model/arithmetic/each_tile.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/tiles.h"
#include "model/blocks/pass.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <numeric>

namespace headlight::model {
namespace {

/// What the backward pass needs beside the tensors that autograd saves; no tensor of it records gradients.
struct Kept : torch::CustomClassHolder {
    AttentionInput in;  ///< without q and k
    CancelToken cancel;
};

/// Gradients of q, k and v of each query head, several of which may share keys and values. Those of k and v lie turned: a tile's
/// part of them is then a product whose second factor is read as it lies.
struct OfHeads {
    at::Tensor q;     ///< [head, query, d_head]
    at::Tensor k, v;  ///< [head, d_head, key], [head, d_value, key]
};

double dot(const float* a, const float* b, std::int64_t n) { return kernels::dot(a, b, n); }
double dot(const double* a, const double* b, std::int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

/// y = softmax(cap tanh(x / cap)): dx = y (dy - y.dy) (1 - (score / cap)^2), a row at a time into dy.
template <class T>
void through_softmax(const T* pattern, const T* capped, double cap, std::int64_t keys, T* dy) {
    const auto both = static_cast<T>(dot(pattern, dy, keys));
    for (std::int64_t j = 0; j < keys; ++j) dy[j] = pattern[j] * (dy[j] - both);
    if (!capped) return;
    const T share = static_cast<T>(1 / cap);
    for (std::int64_t j = 0; j < keys; ++j) dy[j] *= 1 - capped[j] * share * (capped[j] * share);
}

/// part [rows, keys] to the first keys of as many rows of `step` numbers.
template <class T>
void add_rows(const T* part, std::int64_t rows, std::int64_t keys, T* sum, std::int64_t step) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < keys; ++j) sum[r * step + j] += part[r * keys + j];
}

/// One head, tile by tile. `dz`: [query, head, d_value] contiguous.
template <class T>
void add_head(const AttentionInput& in, const at::Tensor& v, const TileFactors& factors, const at::Tensor& dz, std::int64_t head,
              const CancelToken& cancel, OfHeads& out) {
    const FlushDenormals flush;
    const std::int64_t heads = in.q.size(0), queries = in.q.size(1), all_keys = in.k.size(1), d = in.q.size(2), d_v = v.size(2);
    const std::int64_t kv_head = head / (heads / in.k.size(0)), each = tile_plan(in).rows;
    const T* const k = in.k.data_ptr<T>() + kv_head * all_keys * d;
    const at::Tensor values = v[kv_head].t().contiguous();  // [d_value, key]
    const bool capped = in.softcap > 0;
    // Of all tiles: touching memory for the first time takes as long as a product.
    const auto memory = [&](std::int64_t rows) { return at::empty({rows * all_keys}, in.q.options()); };
    const at::Tensor of_pattern = memory(each), of_change = memory(each), of_sums = memory(std::max(d, d_v)),
                     of_scores = memory(capped ? each : 0);
    T* const ds = of_change.data_ptr<T>();
    T* const sums = of_sums.data_ptr<T>();
    for (std::int64_t row = 0; row < queries; row += each) {
        cancel.throw_if_cancelled();
        const std::int64_t rows = std::min(each, queries - row), keys = in.causal ? std::min(all_keys, row + rows) : all_keys;
        const Tile t{head, 1, row, rows, keys};
        at::Tensor pattern = of_pattern.narrow(0, 0, rows * keys).view({1, rows, keys});
        fill_scores(in, t, pattern, factors);
        if (capped) of_scores.narrow(0, 0, rows * keys).copy_(pattern.flatten());
        softmax_tile(in, t, pattern, false);
        const T* const p = pattern.data_ptr<T>();
        const T* const dz_rows = dz.data_ptr<T>() + (row * heads + head) * d_v;
        kernels::gemm(dz_rows, heads * d_v, values.data_ptr<T>(), all_keys, false, ds, keys, rows, keys, d_v);
        const at::Tensor dz_turned = dz.select(1, head).narrow(0, row, rows).t().contiguous();
        kernels::gemm(dz_turned.data_ptr<T>(), rows, p, keys, false, sums, keys, d_v, keys, rows);
        add_rows(sums, d_v, keys, out.v.data_ptr<T>() + head * d_v * all_keys, all_keys);
        for (std::int64_t r = 0; r < rows; ++r)
            through_softmax(p + r * keys, capped ? of_scores.data_ptr<T>() + r * keys : nullptr, in.softcap, keys, ds + r * keys);
        kernels::gemm(ds, keys, k, d, false, out.q.data_ptr<T>() + (head * queries + row) * d, d, rows, d, keys);
        const at::Tensor q_turned = in.q[head].narrow(0, row, rows).t().contiguous();
        kernels::gemm(q_turned.data_ptr<T>(), rows, ds, keys, false, sums, keys, d, keys, rows);
        add_rows(sums, d, keys, out.k.data_ptr<T>() + head * d * all_keys, all_keys);
    }
}

/// Of heads that share keys and values, [head, d, key], as [kv_head, key, d].
at::Tensor of_kv_heads(const at::Tensor& heads, std::int64_t kv_heads) {
    return heads.view({kv_heads, heads.size(0) / kv_heads, heads.size(1), heads.size(2)}).sum(1).transpose(1, 2).contiguous();
}

AttentionInput with_factors(const Kept& kept, const at::Tensor& q, const at::Tensor& k) {
    AttentionInput in = kept.in;
    in.q = q.detach();
    in.k = k.detach();
    return in;
}

struct Attention : torch::autograd::Function<Attention> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const c10::intrusive_ptr<Kept>& kept,
                              const std::function<void(const AttentionInput&, const at::Tensor&, at::Tensor&)>& attend) {
        context->save_for_backward({q, k, v});
        context->saved_data["kept"] = c10::IValue::make_capsule(kept);
        const at::Tensor values = v.detach();
        at::Tensor z = at::empty({q.size(1), q.size(0), v.size(2)}, values.options());
        attend(with_factors(*kept, q, k), values, z);
        return z;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list of_z) {
        const auto kept = c10::static_intrusive_pointer_cast<Kept>(context->saved_data["kept"].toCapsule());
        const auto saved = context->get_saved_variables();
        const AttentionInput in = with_factors(*kept, saved[0], saved[1]);
        const at::Tensor v = saved[2].detach();
        const std::int64_t heads = in.q.size(0), keys = in.k.size(1);
        const at::Tensor dz = of_z[0].detach().contiguous();
        // Of one head by one thread, whose sums do not depend on how many there are.
        OfHeads sums{at::empty_like(in.q), at::zeros({heads, in.k.size(2), keys}, in.q.options()),
                     at::zeros({heads, v.size(2), keys}, in.q.options())};
        const TileFactors factors = tile_factors(in);
        for_each_tile(heads, 0, [&](std::int64_t head, float*) {
            in.q.scalar_type() == at::kFloat ? add_head<float>(in, v, factors, dz, head, kept->cancel, sums)
                                             : add_head<double>(in, v, factors, dz, head, kept->cancel, sums);
        });
        return {sums.q * in.scale, of_kv_heads(sums.k, in.k.size(0)) * in.scale, of_kv_heads(sums.v, in.k.size(0)), {}, {}};
    }
};

struct Product : torch::autograd::Function<Product> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight) {
        context->save_for_backward({weight});
        return matrix_product(x.detach(), weight);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list of_result) {
        return {matrix_product(of_result[0].contiguous(), context->get_saved_variables()[0].t()), {}};
    }
};

bool kernels_without_gradient(const at::Tensor& t) { return has_kernels(t.detach()); }

}  // namespace

bool has_own_gradient(const at::Tensor& x, const at::Tensor& weight) {
    return records_gradient(x) && !records_gradient(weight) && kernels_without_gradient(x);
}

at::Tensor product_with_gradient(const at::Tensor& x, const at::Tensor& weight) { return Product::apply(x, weight); }

bool has_own_gradient(const AttentionInput& in, const at::Tensor& v) {
    const bool recorded = records_gradient(in.q) || records_gradient(in.k) || records_gradient(v);
    return recorded && kernels_without_gradient(in.q) && !in.relative.defined();
}

at::Tensor attend_with_gradient(const AttentionInput& in, const at::Tensor& v, const CancelToken& cancel,
                                const std::function<void(const AttentionInput&, const at::Tensor&, at::Tensor&)>& attend) {
    auto kept = c10::make_intrusive<Kept>();
    kept->in = in;
    kept->in.q = kept->in.k = at::Tensor();
    kept->in.bfloat16_products = false;
    kept->cancel = cancel;
    return Attention::apply(in.q, in.k, v, kept, attend);
}

}  // namespace headlight::model
