// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/kernels.h"
#include "model/blocks/pass.h"

#include <ATen/Parallel.h>

namespace headlight::model {
namespace {

struct Scaled {
    at::Tensor mean;   ///< [pos, 1]
    at::Tensor scale;  ///< [pos, 1]
};

template <class T, class Row>
void for_rows(const at::Tensor& x, Row row) {
    at::parallel_for(0, x.size(0), 16, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) row(i);
    });
}

template <class T>
Scaled moments_of(const at::Tensor& x, double eps, bool centred) {
    const Scaled s = {at::empty({x.size(0), 1}, x.options()), at::empty({x.size(0), 1}, x.options())};
    const T* in = x.data_ptr<T>();
    T* mean = s.mean.data_ptr<T>();
    T* scale = s.scale.data_ptr<T>();
    const std::int64_t d = x.size(1);
    for_rows<T>(x, [&](std::int64_t i) {
        const kernels::Moments m = kernels::moments(in + i * d, d, eps, centred);
        mean[i] = static_cast<T>(m.mean);
        scale[i] = static_cast<T>(m.scale);
    });
    return s;
}

template <class T>
at::Tensor normalized_of(const at::Tensor& x, const Scaled& s) {
    at::Tensor out = at::empty_like(x);
    const at::Tensor scale = s.scale.contiguous();
    const T* in = x.data_ptr<T>();
    const T* mean = s.mean.data_ptr<T>();
    const T* by = scale.data_ptr<T>();
    T* to = out.data_ptr<T>();
    const std::int64_t d = x.size(1);
    for_rows<T>(x, [&](std::int64_t i) { kernels::normalize(in + i * d, mean[i], by[i], to + i * d, d); });
    return out;
}

template <class T>
at::Tensor affine_of(const at::Tensor& x, const NormWeights& w) {
    at::Tensor out = at::empty_like(x);
    const at::Tensor gain = w.gain.contiguous();
    const T* in = x.data_ptr<T>();
    const T* g = gain.data_ptr<T>();
    const T* b = w.bias.defined() ? w.bias.data_ptr<T>() : nullptr;
    T* to = out.data_ptr<T>();
    const std::int64_t d = x.size(1);
    for_rows<T>(x, [&](std::int64_t i) { kernels::affine(in + i * d, g, b, to + i * d, d); });
    return out;
}

template <class T>
at::Tensor norm_with_kernels(Pass& pass, const NormWeights& w, const at::Tensor& x, Hook scale, Hook normalized, Layer layer) {
    const at::Tensor in = x.contiguous();
    Scaled s = moments_of<T>(in, pass.config().norm_epsilon, pass.config().norm == Norm::layer_norm);
    s.scale = pass.hook(scale, layer, s.scale);
    const at::Tensor n = pass.hook(normalized, layer, normalized_of<T>(in, s)).contiguous();
    return affine_of<T>(n, w);
}

}  // namespace

at::Tensor norm(Pass& pass, const NormWeights& w, const at::Tensor& x, Hook scale, Hook normalized, Layer layer) {
    if (has_kernels(x))
        return x.scalar_type() == at::kFloat ? norm_with_kernels<float>(pass, w, x, scale, normalized, layer)
                                             : norm_with_kernels<double>(pass, w, x, scale, normalized, layer);
    // Narrow types are normalised in float, as the reference does.
    const bool narrow = x.scalar_type() == at::kBFloat16;
    at::Tensor wide = narrow ? x.to(at::kFloat) : x;
    if (pass.config().norm == Norm::layer_norm) wide = wide - wide.mean(-1, true);
    const at::Tensor root = (wide.square().mean(-1, true) + pass.config().norm_epsilon).sqrt();
    const at::Tensor by = pass.hook(scale, layer, root.to(x.scalar_type()));
    const at::Tensor n = pass.hook(normalized, layer, (wide / by.to(wide.scalar_type())).to(x.scalar_type()));
    at::Tensor out = n * w.gain;
    if (w.bias.defined()) out.add_(w.bias);
    return out;
}

namespace {

struct HeadNorm {
    at::Tensor scale, normalized;
};

/// x [pos, head, d_head].
HeadNorm head_moments(const ModelConfig& c, const at::Tensor& x) {
    if (c.qk_norm == QkNorm::whole && has_kernels(x)) {  // ATen's sum over two axes depends on how many rows there are
        const at::Tensor rows = x.reshape({x.size(0), -1}).contiguous();
        const bool centred = c.qk_norm_kind == Norm::layer_norm;
        const Scaled s = rows.scalar_type() == at::kFloat ? moments_of<float>(rows, c.norm_epsilon, centred)
                                                          : moments_of<double>(rows, c.norm_epsilon, centred);
        return {s.scale.unsqueeze(2), centred ? x - s.mean.unsqueeze(2) : x};
    }
    at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    const std::vector<std::int64_t> over =
        c.qk_norm == QkNorm::whole ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2};
    if (c.qk_norm_kind == Norm::layer_norm) wide = wide - wide.mean(over, true);
    const at::Tensor scale = (wide.square().mean(over, true) + c.norm_epsilon).sqrt();
    return {scale.to(x.scalar_type()), wide};
}

/// Behind the norm, where queries and keys are cut there.
at::Tensor clipped(const ModelConfig& c, const at::Tensor& x) { return c.clip_normed ? x.clamp(-c.qkv_clip, c.qkv_clip) : x; }

/// Gains are [d_head] or [head, d_head], for a norm over all heads as for one per head.
at::Tensor head_affine(const NormWeights& w, const at::Tensor& x) {
    const auto shaped = [&](const at::Tensor& t) {
        return t.numel() == x.size(2) ? t.view({x.size(2)}) : t.reshape({x.size(1), x.size(2)});
    };
    if (!w.gain.defined()) return x;
    const at::Tensor out = x * shaped(w.gain);
    return w.bias.defined() ? out + shaped(w.bias) : out;
}

}  // namespace

at::Tensor norm_heads(Pass& pass, const NormWeights& w, const at::Tensor& x, Hook scale, Hook normalized, Layer layer) {
    const HeadNorm moments = head_moments(pass.config(), x.transpose(0, 1));
    const at::Tensor by = pass.hook(scale, layer, moments.scale);
    const at::Tensor n = (moments.normalized / by.to(moments.normalized.scalar_type())).to(x.scalar_type());
    return clipped(pass.config(), head_affine(w, pass.hook(normalized, layer, n))).transpose(0, 1).contiguous();
}

at::Tensor normed_heads(const ModelConfig& c, const NormWeights& w, const at::Tensor& x) {
    if (c.qk_norm == QkNorm::none) return x;
    const HeadNorm moments = head_moments(c, x);
    const at::Tensor n = (moments.normalized / moments.scale.to(moments.normalized.scalar_type())).to(x.scalar_type());
    return clipped(c, head_affine(w, n));
}

}  // namespace headlight::model
