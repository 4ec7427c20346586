// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/pass.h"

#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/same_products.h"
#include "model/arithmetic/bfloat16_products.h"
#include "model/arithmetic/kernels.h"
#include "model/blocks/own_gradients.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <sstream>

namespace headlight::model {
namespace {

std::string describe(const at::Tensor& t) {
    if (!t.defined()) return "nothing";
    std::ostringstream text;
    text << t.sizes() << " " << t.scalar_type() << " on " << t.device();
    return text.str();
}

template <class T>
void activate_rows(at::Tensor& pre, const at::Tensor& bias, at::Tensor& post, Activation activation) {
    const std::int64_t width = pre.size(1);
    T* in = pre.data_ptr<T>();
    T* out = post.data_ptr<T>();
    const T* b = bias.defined() ? bias.data_ptr<T>() : nullptr;
    at::parallel_for(0, pre.size(0), 4, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
            kernels::activate(in + row * width, b, out + row * width, width, activation);
    });
}

at::Tensor activate_any(const at::Tensor& x, Activation activation) {
    const auto tanh_form = [&](double root) {
        const at::Tensor u = (x + x * x * x * 0.044715) * root;
        return x * at::sigmoid(u * 2.0);
    };
    switch (activation) {
        case Activation::gelu: return at::gelu(x);
        case Activation::gelu_tanh: return at::gelu(x, "tanh");
        case Activation::gelu_bloom: return tanh_form(0.79788456);
        case Activation::relu: return at::relu(x);
        case Activation::silu: return at::silu(x);
        case Activation::quick_gelu: return x * at::sigmoid(x * 1.702);
        case Activation::tanh: return at::tanh(x);
        case Activation::relu_squared: return at::relu(x).square();
        case Activation::xielu: throw Error("xIELU needs the parameters of its layer");
    }
    return x;
}

}  // namespace

at::Tensor Pass::hook(Hook h, Layer layer, at::Tensor tensor) {
    cancel.throw_if_cancelled();
    const HookPoint point{h, layer};
    if (!observer.wants(point)) return tensor;
    at::Tensor seen = observer.visit(point, tensor);
    if (seen.is_same(tensor)) return seen;
    if (!seen.defined() || seen.sizes() != tensor.sizes() || seen.scalar_type() != tensor.scalar_type() ||
        seen.device() != tensor.device())
        throw Error(ErrorFacts{.problem = "A hook returned a tensor that does not fit",
                               .item = name_of(point, config()),
                               .expected = describe(tensor),
                               .found = describe(seen)});
    return seen;
}

bool records_gradient(const at::Tensor& t) { return t.requires_grad() && at::GradMode::is_enabled(); }

bool has_kernels(const at::Tensor& t) {
    return t.is_cpu() && (t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble) && !records_gradient(t);
}

namespace {

/// OpenBLAS's gemm of one row takes 2.6 times as long as its gemv.
bool is_vector(const at::Tensor& x) { return x.size(0) == 1 && !SameProducts::of_rows(); }

/// ATen's error function is vectorised, but not that of the last numbers of a thread: threads take whole rows, and a row always
/// gets the same bits.
void gelu_rows(const at::Tensor& pre, at::Tensor& post) {
    constexpr std::int64_t kVectors = 64;
    const bool even = pre.size(1) % kVectors == 0;
    at::parallel_for(0, pre.size(0), 1, [&](std::int64_t first, std::int64_t last) {
        const at::NoGradGuard no_grad;
        for (std::int64_t row = first, rows = even ? last - first : 1; row < last; row += rows) {
            at::Tensor out = post.narrow(0, row, rows);
            at::gelu_out(out, pre.narrow(0, row, rows));
        }
    });
}

}  // namespace

at::Tensor product(const at::Tensor& x, const at::Tensor& weight) {
    if (has_own_gradient(x, weight)) return product_with_gradient(x, weight);
    return is_vector(x) ? at::mv(weight.t(), x.select(0, 0)).unsqueeze(0) : matrix_product(x, weight);
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
    if (!linear.bias.defined()) return product(x, linear.weight);
    if (has_own_gradient(x, linear.weight)) return product(x, linear.weight) + linear.bias;
    if (is_vector(x)) return at::addmv(linear.bias, linear.weight.t(), x.select(0, 0)).unsqueeze(0);
    return matrix_product(x, linear.weight, linear.bias);
}

namespace {

bool in_bfloat16(const Pass& pass, const at::Tensor& x, const at::Tensor& weight) {
    return pass.in_bfloat16(x.size(0)) && has_kernels(x) && has_kernels(weight);
}

}  // namespace

at::Tensor product(const Pass& pass, const at::Tensor& x, const at::Tensor& weight) {
    return in_bfloat16(pass, x, weight) ? bfloat16_products::product(x, weight) : product(x, weight);
}

at::Tensor apply(const Pass& pass, const Linear& linear, const at::Tensor& x) {
    if (!in_bfloat16(pass, x, linear.weight)) return apply(linear, x);
    at::Tensor out = product(pass, x, linear.weight);
    return linear.bias.defined() ? out.add_(linear.bias) : out;
}

at::Tensor bias_and_activate(at::Tensor& pre, const at::Tensor& bias, Activation activation) {
    if (!has_kernels(pre)) {
        if (bias.defined()) pre.add_(bias);
        return activate_any(pre, activation);
    }
    at::Tensor post = at::empty_like(pre);
    if (activation == Activation::gelu) {
        if (bias.defined()) pre.add_(bias);
        gelu_rows(pre, post);
        return post;
    }
    if (pre.scalar_type() == at::kFloat)
        activate_rows<float>(pre, bias, post, activation);
    else
        activate_rows<double>(pre, bias, post, activation);
    return post;
}

at::Tensor bias_and_activate(at::Tensor& pre, const at::Tensor& bias, const ModelConfig& c, const LayerWeights& w) {
    if (c.activation != Activation::xielu) return bias_and_activate(pre, bias, c.activation);
    if (bias.defined()) pre.add_(bias);
    const auto here = [&](const at::Tensor& t) { return t.to(pre.device(), pre.scalar_type()); };
    const at::Tensor beta = here(w.xielu.beta), above = at::softplus(here(w.xielu.positive)),
                     below = beta + at::softplus(here(w.xielu.negative));
    const at::Tensor low = (at::expm1(at::min(pre, here(w.xielu.eps))) - pre) * below;
    return at::where(pre > 0, above * pre * pre, low) + beta * pre;
}

}  // namespace headlight::model
