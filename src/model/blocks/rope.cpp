// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary positions (Su et al. 2021). Computed in the pass's own type, as the reference does: at long range the angle's
// rounding is part of the model.
#include "model/blocks/pass.h"

#include <numbers>

namespace headlight::model {
namespace {

/// Llama 3.1's stretching of long wavelengths, smooth between the two limits.
at::Tensor llama3(const ModelConfig& c, const at::Tensor& freq) {
    const auto context = static_cast<double>(c.rope_original_context);
    const at::Tensor wavelength = 2.0 * std::numbers::pi / freq;
    const at::Tensor smooth = (context / wavelength - c.rope_low_freq_factor) / (c.rope_high_freq_factor - c.rope_low_freq_factor);
    const at::Tensor between = (1.0 - smooth) * freq / c.rope_factor + smooth * freq;
    const at::Tensor is_long = wavelength > context / c.rope_low_freq_factor;
    const at::Tensor is_short = wavelength < context / c.rope_high_freq_factor;
    return at::where(is_long, freq / c.rope_factor, at::where(is_short, freq, between));
}

}  // namespace

void make_rope(Pass& pass) {
    const ModelConfig& c = pass.config();
    const bool wide = pass.model.dtype == at::kDouble;
    const auto options = at::TensorOptions(wide ? at::kDouble : at::kFloat).device(pass.model.device);
    const at::Tensor power = at::arange(0, c.rope_dims, 2, options) / static_cast<double>(c.rope_dims);
    at::Tensor freq = 1.0 / at::pow(c.rope_theta, power);  // [rope_dims / 2]
    if (c.rope_scaling == RopeScaling::linear) freq = freq / c.rope_factor;
    if (c.rope_scaling == RopeScaling::llama3) freq = llama3(c, freq);
    const at::Tensor angle = at::outer(at::arange(pass.past(), pass.past() + pass.tokens(), options), freq);
    pass.rope_cos = angle.cos().to(pass.model.dtype);
    pass.rope_sin = angle.sin().to(pass.model.dtype);
}

at::Tensor rotate(const Pass& pass, const at::Tensor& x) {
    const std::int64_t half = pass.config().rope_dims / 2;
    const at::Tensor a = x.narrow(2, 0, half), b = x.narrow(2, half, half);
    at::Tensor out = at::empty_like(x);
    out.narrow(2, 0, half).copy_(a * pass.rope_cos - b * pass.rope_sin);
    out.narrow(2, half, half).copy_(b * pass.rope_cos + a * pass.rope_sin);
    if (2 * half < x.size(2)) out.narrow(2, 2 * half, x.size(2) - 2 * half).copy_(x.narrow(2, 2 * half, x.size(2) - 2 * half));
    return out;
}

}  // namespace headlight::model
