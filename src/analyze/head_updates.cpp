// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/head_measures.h"

#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/Parallel.h>

#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;

struct Products {
    double uu = 0, uh = 0, zz = 0, hh = 0;
};

/// Sums of products over one row, in steps that the compiler turns into vectors; steps are summed in float64.
template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
    constexpr std::int64_t lanes = 16, chunk = 256;
    double sum = 0;
    for (std::int64_t start = 0; start < n; start += chunk) {
        const std::int64_t end = std::min(n, start + chunk), whole = start + (end - start) / lanes * lanes;
        T part[lanes] = {};
        for (std::int64_t i = start; i < whole; i += lanes)
            for (std::int64_t k = 0; k < lanes; ++k) part[k] += a[i + k] * b[i + k];
        for (const T x : part) sum += static_cast<double>(x);
        for (std::int64_t i = whole; i < end; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return sum;
}

/// One head: u [token, d_model], h likewise, z [token, d_head] with `z_stride` numbers from token to token.
template <class T>
std::vector<Products> products(const at::Tensor& u, const at::Tensor& h, const at::Tensor& z) {
    std::vector<Products> out(static_cast<std::size_t>(u.size(0)));
    const std::int64_t width = u.size(1), d_head = z.size(1), z_stride = z.stride(0);
    const T *us = u.data_ptr<T>(), *hs = h.data_ptr<T>(), *zs = z.data_ptr<T>();
    at::parallel_for(0, u.size(0), 32, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const T *ui = us + i * width, *hi = hs + i * width, *zi = zs + i * z_stride;
            out[static_cast<std::size_t>(i)] = {.uu = dot(ui, ui, width),
                                                .uh = dot(ui, hi, width),
                                                .zz = dot(zi, zi, d_head),
                                                .hh = dot(hi, hi, width)};
        }
    });
    return out;
}

class Mean {
public:
    void add(double x) {
        sum_ += x;
        ++count_;
    }
    double value() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : std::nan(""); }

private:
    double sum_ = 0;
    std::int64_t count_ = 0;
};

}  // namespace

HeadUpdates head_updates(const trace::Trace& trace, bool with_first_row) {
    const model::ModelConfig& c = trace.config();
    const at::NoGradGuard no_grad;
    HeadUpdates out;
    for (Eigen::MatrixXd* m : {&out.magnitude, &out.orientation, &out.inner})
        *m = Eigen::MatrixXd::Constant(c.n_layers, c.n_heads, std::nan(""));
    const std::size_t first = c.causal && !with_first_row ? 1 : 0;
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        if (!trace.has({Hook::z, Layer(layer)}) || !trace.has({Hook::resid_pre, Layer(layer)})) continue;
        at::Tensor z = trace::tensor(trace, {Hook::z, Layer(layer)});
        const at::ScalarType type = z.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        z = z.to(type).contiguous();
        const at::Tensor h = trace::tensor(trace, {Hook::resid_pre, Layer(layer)}).to(type).contiguous();
        const at::Tensor w_o = trace::attention_weights(*trace.model(), Layer(layer)).w_o.to(at::kCPU, type);
        at::Tensor u = at::empty({z.size(0), h.size(1)}, h.options());
        for (std::int64_t head = 0; head < c.n_heads; ++head) {
            const at::Tensor own = z.select(1, head);
            at::mm_out(u, own, w_o.select(0, head));
            const std::vector<Products> rows =
                type == at::kDouble ? products<double>(u, h, own) : products<float>(u, h, own);
            Mean magnitude, orientation, inner;
            for (std::size_t i = first; i < rows.size(); ++i) {
                const auto& [uu, uh, zz, hh] = rows[i];
                if (hh <= 0) continue;
                magnitude.add(std::sqrt(uu / hh));
                inner.add(std::sqrt(zz / hh));
                if (uu > 0) orientation.add(uh / std::sqrt(uu * hh));
            }
            out.magnitude(layer, head) = magnitude.value();
            out.orientation(layer, head) = orientation.value();
            out.inner(layer, head) = inner.value();
        }
    }
    return out;
}

}  // namespace headlight::analyze
