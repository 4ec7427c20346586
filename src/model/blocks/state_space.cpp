// SPDX-License-Identifier: GPL-3.0-or-later
// Mamba-2's mixer (Dao and Gu 2024, section 6.2 and appendix C), as its unrolled map: quadratic in the text, as attention is.
#include "model/arithmetic/tiles.h"
#include "model/blocks/attend.h"

#include <algorithm>
#include <vector>

namespace headlight::model {
namespace {

/// Each channel's own causal convolution and its activation: [pos, channel]. Weights [channel, 1, width], the token itself last.
at::Tensor convolved(const ModelConfig& c, const Linear& conv, const at::Tensor& x) {
    const std::int64_t tokens = x.size(0), width = conv.weight.size(2);
    at::Tensor out = at::zeros_like(x, at::MemoryFormat::Contiguous);
    for (std::int64_t i = std::max<std::int64_t>(0, width - tokens); i < width; ++i) {
        const std::int64_t back = width - 1 - i;
        out.narrow(0, back, tokens - back).add_(x.narrow(0, 0, tokens - back) * conv.weight.select(2, i).select(1, 0));
    }
    return bias_and_activate(out, conv.bias, c.state_space.activation);
}

/// Queries or keys of groups, written out for the heads that read them: [pos, head, d_head].
at::Tensor for_heads(const ModelConfig& c, const at::Tensor& of_groups) {
    const std::int64_t groups = c.state_space.groups, each = c.n_heads / groups;
    return of_groups.unflatten(1, std::vector<std::int64_t>{groups, 1, c.d_head})
        .expand({of_groups.size(0), groups, each, c.d_head})
        .flatten(1, 2);
}

/// z [pos, head, d_value] from v [head, pos, d_value], with the hook of the map.
at::Tensor mixed(Pass& pass, Layer layer, const AttentionInput& in, const at::Tensor& v) {
    const TileFactors factors = tile_factors(in, v);
    const std::int64_t heads = in.q.size(0), tokens = in.q.size(1);
    at::Tensor z = at::empty({tokens, heads, v.size(2)}, in.q.options());
    const bool whole = pass.wants(Hook::implied, layer);
    at::Tensor map = whole ? at::empty({heads, tokens, tokens}, in.q.options()) : at::Tensor();
    for_tiles(in, [&](const Tile& t) {
        pass.cancel.throw_if_cancelled();
        at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
        fill_scores(in, t, tile, factors);
        softmax_tile(in, t, tile, false);
        if (whole) store_tile(map, t, tile, 0.0);
        mix_tile(t, tile, v, factors, z);
    });
    if (!whole) return z;
    const at::Tensor seen = pass.hook(Hook::implied, layer, map);
    if (seen.is_same(map)) return z;
    for_tiles(in, [&](Tile t) {
        t.keys = tokens;
        mix_tile(t, seen.narrow(0, t.head0, t.heads).narrow(1, t.row0, t.rows).contiguous(), v, factors, z);
    });
    return z;
}

}  // namespace

StateFactors state_factors(const at::Tensor& steps, const at::Tensor& decays) {
    const auto by_head = [](const at::Tensor& x) { return x.to(at::kDouble).t().contiguous(); };
    return {by_head(steps), by_head(decays).cumsum(1)};
}

at::Tensor state_space(Pass& pass, Layer layer, const at::Tensor& resid_pre) {
    const auto held = weights_of(pass.model, layer, LayerPart::attention);
    const LayerWeights& w = *held;
    const ModelConfig& c = pass.config();
    const StateSpace& s = c.state_space;
    const std::int64_t tokens = resid_pre.size(0), values = value_width(c), inner = c.n_heads * values;
    const std::vector<std::int64_t> by_head = {c.n_heads, values};
    const at::Tensor x = norm(pass, w.ln1, resid_pre, Hook::ln1_scale, Hook::ln1_normalized, layer);

    const at::Tensor in = apply(pass, w.in_proj, x);
    const std::int64_t channels = s.conv_channels(inner, c.d_head), states = s.groups * c.d_head;
    const at::Tensor gate = pass.hook(Hook::gate, layer, in.narrow(1, 0, inner).unflatten(1, by_head));
    const at::Tensor conv = convolved(c, w.mixer_conv, pass.hook(Hook::conv_in, layer, in.narrow(1, inner, channels)));
    const at::Tensor q = pass.hook(Hook::q, layer, for_heads(c, conv.narrow(1, inner + states, states)));
    const at::Tensor k = pass.hook(Hook::k, layer, for_heads(c, conv.narrow(1, inner, states)));
    const at::Tensor v = pass.hook(Hook::v, layer, conv.narrow(1, 0, inner).unflatten(1, by_head));
    at::Tensor steps = at::softplus(in.narrow(1, inner + channels, c.n_heads) + w.step_bias);
    steps = pass.hook(Hook::step, layer, steps.clamp(s.least_step, s.largest_step));
    const at::Tensor decays = pass.hook(Hook::decay, layer, -w.rate_log.exp() * steps);

    const auto heads_first = [](const at::Tensor& t) { return t.transpose(0, 1).contiguous(); };
    const AttentionInput map{.q = heads_first(q),
                             .k = heads_first(k),
                             .alibi_slopes = {},
                             .scale = 1,
                             .causal = true,
                             .state = state_factors(steps, decays)};
    const at::Tensor z = pass.hook(Hook::z, layer, mixed(pass, layer, map, heads_first(v)));
    if (pass.ends_at_z && layer.value + 1 == pass.layers) return {};

    const at::Tensor skipped = pass.hook(Hook::skipped, layer, z + w.skip.unsqueeze(1) * v);
    const at::Tensor gated = pass.hook(Hook::gated, layer, skipped * at::silu(gate));
    const at::Tensor parts = gated.reshape({tokens, s.norm_groups, inner / s.norm_groups});
    const at::Tensor wide = parts.scalar_type() == at::kBFloat16 ? parts.to(at::kFloat) : parts;
    const at::Tensor root = (wide.square().mean(2) + c.norm_epsilon).sqrt().to(parts.scalar_type());
    const at::Tensor scale = pass.hook(Hook::gate_norm_scale, layer, root);
    const at::Tensor normed = (wide / scale.to(wide.scalar_type()).unsqueeze(2)).to(parts.scalar_type());
    const at::Tensor n = pass.hook(Hook::gate_norm_normalized, layer, normed.view({tokens, c.n_heads, values}));
    at::Tensor out = combine_heads(pass, layer, kOwnAttention, w.o, n * w.gate_norm.view({c.n_heads, values}));
    out = pass.hook(Hook::attn_out, layer, out);
    return pass.hook(Hook::resid_mid, layer, resid_pre + out);
}

}  // namespace headlight::model
