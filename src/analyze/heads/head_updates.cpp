// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_measures.h"

#include "headlight/analyze/heads/query_key_signs.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/outline.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace headlight::analyze {
namespace {

using model::Hook;

/// Sums of products over one row, in steps that the compiler turns into vectors; steps are summed in float64.
double dot(const float* a, const float* b, std::int64_t n) {
    constexpr std::int64_t lanes = 16, chunk = 256;
    double sum = 0;
    for (std::int64_t start = 0; start < n; start += chunk) {
        const std::int64_t end = std::min(n, start + chunk), whole = start + (end - start) / lanes * lanes;
        float part[lanes] = {};
        for (std::int64_t i = start; i < whole; i += lanes)
            for (std::int64_t k = 0; k < lanes; ++k) part[k] += a[i + k] * b[i + k];
        for (const float x : part) sum += static_cast<double>(x);
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

/// One head of one layer. z [token, head, d_value]; factor [d_value, d_value] with |z_i W_O| = |z_i factor|; `read` [token, head,
/// d_value] W_O h_i, so that z_i W_O h_i takes d_value steps and no update is made; `squares` |h_i|^2.
void add_head(const at::Tensor& z, const at::Tensor& factor, const at::Tensor& read, const std::vector<double>& squares,
              std::int64_t first, HeadId id, HeadUpdates& out) {
    const std::int64_t d = z.size(2), step = z.stride(0);
    const at::Tensor along = at::mm(z.select(1, id.head.value), factor);
    const float *us = along.data_ptr<float>(), *zs = z.data_ptr<float>() + id.head.value * d,
                *reads = read.data_ptr<float>() + id.head.value * d;
    Mean magnitude, orientation, inner;
    for (std::int64_t i = first; i < z.size(0); ++i) {
        const float *ui = us + i * d, *zi = zs + i * step;
        const double hh = squares[static_cast<std::size_t>(i)], uu = dot(ui, ui, d);
        if (hh <= 0) continue;
        magnitude.add(std::sqrt(uu / hh));
        inner.add(std::sqrt(dot(zi, zi, d) / hh));
        if (uu > 0) orientation.add(dot(zi, reads + i * step, d) / std::sqrt(uu * hh));
    }
    out.magnitude(id.layer.value, id.head.value) = magnitude.value();
    out.orientation(id.layer.value, id.head.value) = orientation.value();
    out.inner(id.layer.value, id.head.value) = inner.value();
}

struct WeightSimilarityKey {
    bool operator==(const WeightSimilarityKey&) const = default;
};

/// `of_text` is the one whose tokens the vectors are of.
std::vector<std::uint8_t> apart_in(const text::Encoding& of_text, const trace::Trace& trace) {
    std::vector<std::uint8_t> out;
    for (std::size_t i = 0; i < of_text.ids.size(); ++i) {
        const bool special =
            of_text.special[i] || (!of_text.pixels && trace.tokenizer() && trace.tokenizer()->is_special(of_text.ids[i]));
        out.push_back(i == 0 || special ? 1 : 0);
    }
    return out;
}

void add_query_key_signs(const trace::Trace& trace, HeadUpdates& out) {
    const model::ModelConfig& c = trace.config();
    // Reads every W_Q and W_K: once a model.
    const auto similarities = trace.model()->results().get(
        WeightSimilarityKey{}, [&] { return weight_similarity(*trace.model()); },
        [](const auto& all) { return std::ssize(all) * std::int64_t{sizeof(double)}; });
    const std::vector<double>& alike = *similarities;
    const std::vector<std::uint8_t> queries = apart_in(trace.encoding(), trace),
                                    keys = trace.across_texts() ? apart_in(trace.key_encoding(), trace) : queries;
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        for (std::int64_t head = 0; head < c.n_heads; ++head)
            out.weight_similarity(layer, head) = alike[static_cast<std::size_t>(layer * c.n_heads + head)];
        if (!trace.has({Hook::q, Layer(layer)}) || !trace.has({Hook::k, Layer(layer)})) continue;
        const auto heads_first = [&](Hook which) {
            const at::Tensor x = trace::before_rotation(trace, Layer(layer), which).to(at::kCPU, at::kFloat);
            return (c.latent.any() ? x.narrow(2, 0, c.latent.content) : x).transpose(0, 1).contiguous();
        };
        const at::Tensor q = heads_first(Hook::q), k = heads_first(Hook::k);
        if (q.size(1) != std::ssize(queries) || k.size(1) != std::ssize(keys) || q.size(2) != k.size(2)) continue;
        const std::int64_t width = q.size(2), group = c.n_heads / k.size(0);
        const auto rows = [width](const at::Tensor& x, std::int64_t head) {
            return std::span<const float>(x.data_ptr<float>() + head * x.size(1) * width,
                                          static_cast<std::size_t>(x.size(1) * width));
        };
        for (std::int64_t head = 0; head < c.n_heads; ++head) {
            const QueryKeySigns signs =
                query_key_signs({rows(q, head), queries}, {rows(k, head / group), keys}, width, !trace.across_texts());
            out.norm_gap(layer, head) = signs.norm_gap;
            out.centre_distance(layer, head) = signs.centre_distance;
            out.similarity(layer, head) = signs.similarity;
        }
    }
}

}  // namespace

HeadUpdates head_updates(const trace::Trace& trace, bool with_first_row, std::int64_t first_counted, bool with_vectors) {
    const model::ModelConfig& c = trace.config();
    const at::NoGradGuard no_grad;
    HeadUpdates out;
    for (Eigen::MatrixXd* m : {&out.magnitude, &out.orientation, &out.inner, &out.norm_gap, &out.centre_distance, &out.similarity,
                               &out.weight_similarity})
        *m = Eigen::MatrixXd::Constant(c.n_layers, c.n_heads, std::nan(""));
    if (!model::has_weights(*trace.model())) return out;
    if (with_vectors) add_query_key_signs(trace, out);
    const std::int64_t first = std::max<std::int64_t>(c.causal && !with_first_row ? 1 : 0, first_counted);
    for (std::int64_t layer = 0; layer < c.n_layers; ++layer) {
        if (!trace.has({Hook::z, Layer(layer)}) || !trace.has({Hook::resid_pre, Layer(layer)})) continue;
        const at::Tensor z = trace::tensor(trace, {Hook::z, Layer(layer)}).to(at::kFloat).contiguous();
        const at::Tensor h = trace::tensor(trace, {Hook::resid_pre, Layer(layer)}).to(at::kFloat).contiguous();
        const at::Tensor w_o = trace::attention_output(*trace.model(), Layer(layer)).w_o.to(at::kCPU, at::kFloat).flatten(0, 1);
        const at::Tensor read = model::matrix_product(h, w_o.t()), factors = trace::length_factors(*trace.model(), Layer(layer));
        std::vector<double> squares;
        for (std::int64_t i = 0; i < h.size(0); ++i) {
            const float* hi = h.data_ptr<float>() + i * h.size(1);
            squares.push_back(dot(hi, hi, h.size(1)));
        }
        // A head a thread: splitting such small products would cost more than they do.
        at::parallel_for(0, c.n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
            const at::NoGradGuard inner;
            for (std::int64_t head = begin; head < end; ++head)
                add_head(z, factors.select(0, head), read, squares, first, {Layer(layer), Head(head)}, out);
        });
    }
    return out;
}

}  // namespace headlight::analyze
