// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary positions (Su et al. 2021). Computed in the pass's own type, as the reference does: at long range the angle's
// rounding is part of the model.
#include "model/blocks/pass.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headlight::model {
namespace {

/// Llama 3.1's stretching of long wavelengths, smooth between the two limits.
at::Tensor llama3(const Rope& rope, const at::Tensor& freq) {
    const auto context = static_cast<double>(rope.original_context);
    const at::Tensor wavelength = 2.0 * std::numbers::pi / freq;
    const at::Tensor smooth = (context / wavelength - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
    const at::Tensor between = (1.0 - smooth) * freq / rope.factor + smooth * freq;
    const at::Tensor is_long = wavelength > context / rope.low_freq_factor;
    const at::Tensor is_short = wavelength < context / rope.high_freq_factor;
    return at::where(is_long, freq / rope.factor, at::where(is_short, freq, between));
}

/// YaRN (Peng et al. 2023, section 3.2): frequencies that turn often stay, slow ones are divided by the factor, between
/// the two a ramp over the dimensions.
at::Tensor yarn(const Rope& rope, std::int64_t dims, const at::Tensor& freq) {
    const auto n = static_cast<double>(dims);
    const auto dimension = [&](double turns) {
        return n * std::log(static_cast<double>(rope.original_context) / (turns * 2 * std::numbers::pi)) /
               (2 * std::log(rope.theta));
    };
    double low = dimension(rope.beta_fast), high = dimension(rope.beta_slow);
    if (rope.truncate) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, n - 1);
    if (low == high) high += 0.001;
    const at::Tensor ramp = ((at::arange(dims / 2, freq.options()) - low) / (high - low)).clamp(0, 1);
    return freq / rope.factor * ramp + freq * (1.0 - ramp);
}

/// [rope_dims / 2]
at::Tensor frequencies(const Rope& rope, std::int64_t dims, std::int64_t tokens, const at::TensorOptions& options) {
    double theta = rope.theta;
    if (rope.scaling == RopeScaling::dynamic) {  // NTK: the longer the text beyond the context, the larger the base
        const auto n = static_cast<double>(dims), context = static_cast<double>(rope.original_context);
        const double length = std::max(static_cast<double>(tokens), context);
        theta *= std::pow(rope.factor * length / context - (rope.factor - 1), n / (n - 2));
    }
    const at::Tensor power = at::arange(0, dims, 2, options) / static_cast<double>(dims);
    const at::Tensor freq = 1.0 / at::pow(theta, power);
    switch (rope.scaling) {
        case RopeScaling::linear: return freq / rope.factor;
        case RopeScaling::llama3: return llama3(rope, freq);
        case RopeScaling::yarn: return yarn(rope, dims, freq);
        case RopeScaling::longrope: {
            const std::vector<double>& by = tokens > rope.original_context ? rope.long_factors : rope.short_factors;
            const at::Tensor factors = at::empty({static_cast<std::int64_t>(by.size())}, at::kDouble);
            std::copy(by.begin(), by.end(), factors.data_ptr<double>());
            return freq / factors.to(options.device(), freq.scalar_type());
        }
        default: return freq;
    }
}

/// Angles of patches: the first half of the pairs turns with the row of the patch's middle, from -1 to 1 over the picture, the
/// other with its column; class tokens do not turn (DINOv3). [pos, rope_dims / 2]
at::Tensor patch_angles(const ModelConfig& c, const Rope& rope, const at::TensorOptions& options) {
    const std::int64_t rows = patch_rows(c), columns = patch_columns(c), n = c.rope_dims / 4;
    const at::Tensor freq = 1.0 / at::pow(rope.theta, at::arange(n, options) * (4.0 / static_cast<double>(c.rope_dims)));
    const auto along = [&](std::int64_t count) {
        const at::Tensor middle = (at::arange(count, options) + 0.5) / static_cast<double>(count) * 2.0 - 1.0;
        return at::outer(middle * (2 * std::numbers::pi), freq);
    };
    const std::vector<std::int64_t> grid = {rows, columns, n};
    const at::Tensor patches = at::cat({along(rows).unsqueeze(1).expand(grid), along(columns).unsqueeze(0).expand(grid)}, 2);
    return at::cat({at::zeros({c.class_tokens, 2 * n}, options), patches.reshape({rows * columns, 2 * n})});
}

RopeTable table(const Pass& pass, const Rope& rope) {
    const bool wide = pass.model.dtype == at::kDouble;
    const auto options = at::TensorOptions(wide ? at::kDouble : at::kFloat).device(pass.model.device);
    if (reads_pictures(pass.config())) {
        const at::Tensor angle = patch_angles(pass.config(), rope, options);
        return {angle.cos().to(pass.model.dtype), angle.sin().to(pass.model.dtype)};
    }
    const at::Tensor freq = frequencies(rope, pass.config().rope_dims, pass.past() + pass.tokens(), options);
    const at::Tensor angle = at::outer(at::arange(pass.past(), pass.past() + pass.tokens(), options), freq);
    const bool far = rope.far_attention_factor > 0 && pass.past() + pass.tokens() > rope.original_context;
    const double factor = far ? rope.far_attention_factor : rope.attention_factor;
    RopeTable made{(angle.cos() * factor).to(pass.model.dtype), (angle.sin() * factor).to(pass.model.dtype)};
    if (const QueryGrowth& growth = pass.config().query_growth; growth.any()) {
        const at::Tensor passed =
            (at::arange(pass.past() + growth.first, pass.past() + growth.first + pass.tokens(), options) / growth.context)
                .floor();
        made.growth = ((passed + 1).log() * growth.beta + 1).unsqueeze(1).to(pass.model.dtype);
    }
    return made;
}

}  // namespace

void make_rope(Pass& pass) {
    const ModelConfig& c = pass.config();
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const LayerRope kind = rope_of(c, l);
        const bool grows = kind == LayerRope::none && c.query_growth.unrotated;
        if ((kind == LayerRope::global || grows) && !pass.rope.cos.defined()) pass.rope = table(pass, c.rope);
        if (kind == LayerRope::local && !pass.local_rope.cos.defined()) pass.local_rope = table(pass, c.local_rope);
    }
}

bool rotation_stays(const ModelConfig& c, std::int64_t tokens, std::int64_t longer) {
    if (has_implied_maps(c)) return false;  // states are not kept: a longer text runs as a whole
    if (c.positions != Positions::rotary) return true;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const LayerRope kind = rope_of(c, l);
        if (kind == LayerRope::none) continue;
        const Rope& rope = kind == LayerRope::local ? c.local_rope : c.rope;
        if (longer <= rope.original_context) continue;
        if (rope.scaling == RopeScaling::dynamic) return false;
        if (rope.scaling == RopeScaling::longrope && tokens <= rope.original_context) return false;
    }
    return true;
}

at::Tensor grown(const Pass& pass, Layer layer, const at::Tensor& queries) {
    const LayerRope kind = rope_of(pass.config(), layer.value);
    if (pass.config().query_growth.unrotated && kind != LayerRope::none) return queries;
    const RopeTable& by = kind == LayerRope::local ? pass.local_rope : pass.rope;
    return by.growth.defined() ? queries * by.growth : queries;
}

at::Tensor rotate(const Pass& pass, Layer layer, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    const LayerRope kind = rope_of(c, layer.value);
    if (kind == LayerRope::none) return x;
    const RopeTable& by = kind == LayerRope::local ? pass.local_rope : pass.rope;
    const std::int64_t half = c.rope_dims / 2, from = first_rotated(c), to = from + c.rope_dims;
    const auto part = [&](const at::Tensor& t, std::int64_t which) {
        return c.rope_interleaved ? t.slice(2, from + which, to, 2) : t.narrow(2, from + which * half, half);
    };
    const at::Tensor a = part(x, 0), b = part(x, 1);
    at::Tensor out = at::empty_like(x);
    part(out, 0).copy_(a * by.cos - b * by.sin);
    part(out, 1).copy_(b * by.cos + a * by.sin);
    if (from > 0) out.narrow(2, 0, from).copy_(x.narrow(2, 0, from));
    if (to < x.size(2)) out.narrow(2, to, x.size(2) - to).copy_(x.narrow(2, to, x.size(2) - to));
    return out;
}

at::Tensor rotate_rows(const Model::Internals& model, Layer layer, const at::Tensor& x, bool queries, std::int64_t first,
                       std::int64_t tokens) {
    const ForwardInput nothing{};
    NoObserver nobody;
    Pass pass{model, nothing, nobody};
    pass.ids = at::arange(tokens, at::kLong);
    make_rope(pass);
    for (RopeTable* table : {&pass.rope, &pass.local_rope})
        for (at::Tensor* t : {&table->cos, &table->sin, &table->growth})
            if (t->defined()) *t = t->narrow(0, first, x.size(1)).to(x.options());
    const at::Tensor rotated = rotate(pass, layer, x);
    return queries ? grown(pass, layer, rotated) : rotated;
}

}  // namespace headlight::model
