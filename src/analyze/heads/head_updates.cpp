// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_measures.h"

#include "headlight/model/outline.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;

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

/// |h_i|^2 of every token.
template <class T>
std::vector<double> squares(const at::Tensor& h) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < h.size(0); ++i) {
        const T* hi = h.data_ptr<T>() + i * h.size(1);
        out.push_back(dot(hi, hi, h.size(1)));
    }
    return out;
}

/// One head of one layer: z [token, d_head] of a larger tensor, w_o [d_head, d_model], h [token, d_model].
template <class T>
void add_head(const at::Tensor& z, const at::Tensor& w_o, const at::Tensor& h, const std::vector<double>& h_squares,
              std::int64_t first, HeadId id, HeadUpdates& out) {
    const at::Tensor u = at::mm(z, w_o);
    const std::int64_t width = u.size(1), d_head = z.size(1), z_stride = z.stride(0);
    const T *us = u.data_ptr<T>(), *hs = h.data_ptr<T>(), *zs = z.data_ptr<T>();
    Mean magnitude, orientation, inner;
    for (std::int64_t i = first; i < u.size(0); ++i) {
        const T *ui = us + i * width, *hi = hs + i * width, *zi = zs + i * z_stride;
        const double hh = h_squares[static_cast<std::size_t>(i)], uu = dot(ui, ui, width);
        if (hh <= 0) continue;
        magnitude.add(std::sqrt(uu / hh));
        inner.add(std::sqrt(dot(zi, zi, d_head) / hh));
        if (uu > 0) orientation.add(dot(ui, hi, width) / std::sqrt(uu * hh));
    }
    out.magnitude(id.layer.value, id.head.value) = magnitude.value();
    out.orientation(id.layer.value, id.head.value) = orientation.value();
    out.inner(id.layer.value, id.head.value) = inner.value();
}

}  // namespace

HeadUpdates head_updates(const trace::Trace& trace, bool with_first_row, std::int64_t first_counted) {
    const model::ModelConfig& c = trace.config();
    const at::NoGradGuard no_grad;
    HeadUpdates out;
    for (Eigen::MatrixXd* m : {&out.magnitude, &out.orientation, &out.inner})
        *m = Eigen::MatrixXd::Constant(c.n_layers, c.n_heads, std::nan(""));
    if (!model::has_weights(*trace.model())) return out;
    const std::int64_t first = std::max<std::int64_t>(c.causal && !with_first_row ? 1 : 0, first_counted);
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        if (!trace.has({Hook::z, Layer(layer)}) || !trace.has({Hook::resid_pre, Layer(layer)})) continue;
        at::Tensor z = trace::tensor(trace, {Hook::z, Layer(layer)});
        const at::ScalarType type = z.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        z = z.to(type).contiguous();
        const at::Tensor h = trace::tensor(trace, {Hook::resid_pre, Layer(layer)}).to(type).contiguous();
        const at::Tensor w_o = trace::attention_output(*trace.model(), Layer(layer)).w_o.to(at::kCPU, type);
        const std::vector<double> h_squares = type == at::kDouble ? squares<double>(h) : squares<float>(h);
        const auto add = type == at::kDouble ? add_head<double> : add_head<float>;
        // A head a thread: splitting such small products would cost more than they do.
        at::parallel_for(0, c.n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t head = begin; head < end; ++head)
                add(z.select(1, head), w_o.select(0, head), h, h_squares, first, {Layer(layer), Head(head)}, out);
        });
    }
    return out;
}

}  // namespace headlight::analyze
