// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/same_products.h"
#include "model/arithmetic/kernels.h"
#include "model/arithmetic/tiles.h"
#include "model/blocks/attend.h"
#include "model/blocks/disentangled.h"
#include "model/blocks/latent.h"
#include "model/blocks/own_gradients.h"
#include "model/blocks/pack.h"
#include "model/blocks/text_stack.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

namespace headlight::model {
namespace {

template <class T>
void split_rows(const at::Tensor& x, const at::Tensor& bias, std::int64_t first, std::int64_t step, at::Tensor& out) {
    const std::int64_t heads = out.size(0), tokens = out.size(1), d = out.size(2), width = x.size(1);
    const T* in = x.data_ptr<T>();
    const T* b = bias.defined() ? bias.data_ptr<T>() : nullptr;
    T* to = out.data_ptr<T>();
    at::parallel_for(0, tokens, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t)
            for (std::int64_t h = 0; h < heads; ++h) {
                const std::int64_t column = first + h * step;
                kernels::add_bias(in + t * width + column, b ? b + column : nullptr, to + (h * tokens + t) * d, d);
            }
    });
}

}  // namespace

at::Tensor split_heads(const at::Tensor& x, const at::Tensor& bias, std::int64_t heads, std::int64_t d_head, std::int64_t first,
                       std::int64_t step) {
    const std::int64_t tokens = x.size(0);
    if (has_kernels(x)) {
        at::Tensor out = at::empty({heads, tokens, d_head}, x.options());
        x.scalar_type() == at::kFloat ? split_rows<float>(x, bias, first, step, out)
                                      : split_rows<double>(x, bias, first, step, out);
        return out;
    }
    const at::Tensor with_bias = bias.defined() ? x + bias : x;
    return with_bias.as_strided({heads, tokens, d_head}, {step, x.size(1), 1}, first).contiguous();
}

namespace {

/// q, k and v, each [head, pos, d_head] contiguous.
std::array<at::Tensor, 3> projected(const Pass& pass, const LayerWeights& w, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    const std::int64_t d = c.d_head;
    if (pass.model.qkv_layout == QkvLayout::separate) {
        const auto part = [&](const Linear& l, std::int64_t heads) {
            return split_heads(product(pass, x, l.weight), l.bias, heads, d, 0, d);
        };
        return {part(w.q, c.n_heads), part(w.k, c.n_kv_heads), part(w.v, c.n_kv_heads)};
    }
    const bool per_head = pass.model.qkv_layout == QkvLayout::per_head;
    const at::Tensor fused = product(pass, x, w.qkv.weight);
    const auto part = [&](std::int64_t which) {
        return split_heads(fused, w.qkv.bias, c.n_heads, d, which * (per_head ? d : c.n_heads * d), per_head ? 3 * d : d);
    };
    return {part(0), part(1), part(2)};
}

}  // namespace

at::Tensor hook_heads(Pass& pass, Hook hook, Layer layer, const at::Tensor& x) {
    return pass.hook(hook, layer, x.transpose(0, 1)).transpose(0, 1).contiguous();
}

namespace {

/// The same after clipping and hooks.
std::array<at::Tensor, 3> project(Pass& pass, Layer layer, const LayerWeights& w, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    if (c.latent.any()) return latent_qkv(pass, layer, x);
    auto [q, k, v] = projected(pass, w, x);
    if (c.qkv_clip > 0) {
        v = v.clamp(-c.qkv_clip, c.qkv_clip);
        for (at::Tensor* t : {&q, &k})
            if (!c.clip_normed) *t = t->clamp(-c.qkv_clip, c.qkv_clip);
    }
    q = hook_heads(pass, Hook::q, layer, q);
    k = hook_heads(pass, Hook::k, layer, k);
    v = hook_heads(pass, Hook::v, layer, v);
    return {q, k, v};
}

void tell_tile(Pass& pass, Layer layer, const AttentionHooks& hooks, const Tile& t, const at::Tensor& tile,
               std::span<const RowLogs> logs = {}) {
    if (!pass.observer.wants_pattern_tiles()) return;
    if (hooks.pattern == Hook::pattern)
        pass.observer.pattern_tile(layer, t.head0, t.row0, tile, logs);
    else
        pass.observer.cross_pattern_tile(layer, t.head0, t.row0, tile);
}

/// The default: tile by tile, no pattern is ever whole. Rows of earlier tokens are for observers only.
void attend_in_tiles(Pass& pass, Layer layer, const AttentionHooks& hooks, const AttentionInput& in, const at::Tensor& v,
                     at::Tensor& z) {
    const TileFactors factors = tile_factors(in, v);
    const std::int64_t earlier = pass.earlier ? pass.earlier->rows : 0;
    for_tiles(in, [&](const Tile& t) {
        const bool mixes = t.row0 + t.rows > earlier;
        if (!mixes && !pass.observer.wants_pattern_tiles()) return;
        pass.cancel.throw_if_cancelled();
        at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
        fill_scores(in, t, tile, factors);
        std::vector<RowLogs> logs;
        softmax_tile(in, t, tile, false, {}, pass.observer.wants_pattern_tiles() ? &logs : nullptr);
        tile = tile.to(in.q.scalar_type());
        tell_tile(pass, layer, hooks, t, tile, logs);
        if (mixes) mix_tile(t, tile, v, factors, z);
    });
}

at::Tensor part_of(const at::Tensor& whole, const Tile& t) {
    return whole.narrow(0, t.head0, t.heads).narrow(1, t.row0, t.rows).narrow(2, 0, t.keys);
}

/// The pattern after the hook of the heads' sinks: a share that was replaced leaves more or less for the keys, whose
/// weights keep their proportions.
at::Tensor behind_sinks(Pass& pass, Layer layer, const at::Tensor& pattern, const at::Tensor& share) {
    if (!share.defined()) return pattern;
    const at::Tensor seen = pass.hook(Hook::sink, layer, share);
    if (seen.is_same(share)) return pattern;
    constexpr double least = 1e-30;  // where the sink took everything there are no proportions to keep
    return pattern * ((1 - seen) / (1 - share).clamp_min(least)).unsqueeze(-1);
}

/// Scores or patterns that were replaced: softmax of the scores, then whatever the pattern became. Every key counts,
/// because a replacement may attend where the model may not.
void attend_replaced(Pass& pass, Layer layer, const AttentionHooks& hooks, const AttentionInput& in, const at::Tensor& v,
                     const at::Tensor* scores, at::Tensor pattern, const at::Tensor& share, at::Tensor& z) {
    if (scores) {
        at::Tensor fresh = at::empty_like(pattern);
        for_tiles(in, [&](Tile t) {
            t.keys = in.k.size(1);
            at::Tensor tile = part_of(*scores, t).clone(at::MemoryFormat::Contiguous);
            softmax_tile(in, t, tile, true, share);
            store_tile(fresh, t, tile, 0.0);
        });
        pattern = pass.hook(hooks.pattern, layer, behind_sinks(pass, layer, fresh, share));
    }
    const TileFactors factors = tile_factors(in, v);
    for_tiles(in, [&](Tile t) {
        t.keys = in.k.size(1);
        const at::Tensor tile = part_of(pattern, t).contiguous();
        tell_tile(pass, layer, hooks, t, tile);
        mix_tile(t, tile, v, factors, z);
    });
}

/// Hooks of the terms of a layer's score (DeBERTa's terms, MLA's parts).
std::vector<Hook> summands(const AttentionInput& in) {
    std::vector<Hook> hooks;
    if (in.relative.c2p.defined()) hooks.push_back(Hook::c2p);
    if (in.relative.p2c.defined()) hooks.push_back(Hook::p2c);
    if (in.content > 0) hooks.insert(hooks.end(), {Hook::content_scores, Hook::rotary_scores});
    return hooks;
}

/// Passes the terms of the score through their hooks. Returns what replacements add to the scores [head, query, key];
/// undefined if nothing was replaced.
at::Tensor show_summands(Pass& pass, Layer layer, const AttentionInput& in) {
    at::Tensor added;
    for (const Hook hook : summands(in)) {
        if (!pass.wants(hook, layer)) continue;
        const bool part = hook == Hook::content_scores || hook == Hook::rotary_scores;
        const auto make = part ? score_part : relative_term;
        const at::Tensor term = make(in, hook, 0, in.q.size(0), 0, in.q.size(1));
        const at::Tensor seen = pass.hook(hook, layer, term);
        if (seen.is_same(term)) continue;
        // A part of a masked key is -inf, and so is its score.
        const at::Tensor change = part ? at::where(at::isfinite(term), seen - term, at::zeros_like(term)) : seen - term;
        added = added.defined() ? added + change : change;
    }
    return added;
}

/// The same if an observer wants scores or patterns whole, and may replace them: [head, query, key].
void attend_whole(Pass& pass, Layer layer, const AttentionHooks& hooks, const AttentionInput& in, const at::Tensor& v,
                  at::Tensor& z) {
    const std::vector<std::int64_t> shape = {in.q.size(0), in.q.size(1), in.k.size(1)};
    const bool keep_scores = pass.wants(hooks.scores, layer);
    at::Tensor share;
    if (in.sinks.defined()) share = at::empty({shape[0], shape[1]}, in.q.options());
    if (const at::Tensor added = show_summands(pass, layer, in); added.defined()) {
        const at::Tensor scores = pass.hook(hooks.scores, layer, score_tile(in, 0, shape[0], 0, shape[1]) + added);
        return attend_replaced(pass, layer, hooks, in, v, &scores, at::empty(shape, in.q.options()), share, z);
    }
    at::Tensor pattern = at::empty(shape, in.q.options());
    at::Tensor scores = keep_scores ? at::empty(shape, score_options(in)) : at::Tensor{};
    const TileFactors factors = tile_factors(in, v);
    for_tiles(in, [&](const Tile& t) {
        at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
        fill_scores(in, t, tile, factors);
        if (keep_scores) {
            mask_tile(in, t, tile);
            store_tile(scores, t, tile, -std::numeric_limits<double>::infinity());
        }
        softmax_tile(in, t, tile, false, share);
        store_tile(pattern, t, tile, 0.0);
        mix_tile(t, tile.to(in.q.scalar_type()), v, factors, z);  // right unless a hook changes something
    });
    if (keep_scores) {
        const at::Tensor seen = pass.hook(hooks.scores, layer, scores);
        if (!seen.is_same(scores)) return attend_replaced(pass, layer, hooks, in, v, &seen, pattern, share, z);
    }
    const at::Tensor seen = pass.hook(hooks.pattern, layer, behind_sinks(pass, layer, pattern, share));
    if (!seen.is_same(pattern)) return attend_replaced(pass, layer, hooks, in, v, nullptr, seen, share, z);
    if (pass.observer.wants_pattern_tiles())
        for_tiles(in, [&](const Tile& t) { tell_tile(pass, layer, hooks, t, part_of(pattern, t).contiguous()); });
}

/// result [pos, head, d_model] = z_h W_O^h.
at::Tensor head_results(const Pass& pass, const Linear& o, const at::Tensor& z) {
    const std::int64_t heads = z.size(1), d = z.size(2);
    if (records_gradient(z))
        return at::matmul(z.transpose(0, 1), o.weight.unflatten(0, std::vector<std::int64_t>{heads, d})).transpose(0, 1);
    at::Tensor result = at::empty({z.size(0), heads, pass.config().d_model}, z.options());
    for (std::int64_t h = 0; h < heads; ++h) {
        at::Tensor out = result.select(1, h);
        const at::Tensor of_head = z.select(1, h), weight = o.weight.narrow(0, h * d, d);
        // ATen's product of few numbers may give a row other bits among other rows.
        if (SameProducts::of_rows() || pass.bfloat16_products)
            out.copy_(product(pass, of_head, weight));
        else
            at::mm_out(out, of_head, weight);
    }
    return result;
}

}  // namespace

at::Tensor attend(Pass& pass, Layer layer, const AttentionHooks& hooks, const AttentionInput& in, const at::Tensor& v) {
    const bool whole = pass.wants(hooks.scores, layer) || pass.wants(hooks.pattern, layer) ||
                       (in.sinks.defined() && pass.wants(Hook::sink, layer)) ||
                       std::ranges::any_of(summands(in), [&](Hook hook) { return pass.wants(hook, layer); });
    const auto in_tiles = [&](const AttentionInput& of, const at::Tensor& values, at::Tensor& z) {
        attend_in_tiles(pass, layer, hooks, of, values, z);
    };
    at::Tensor z;
    if (!whole && has_own_gradient(in, v)) {
        z = attend_with_gradient(in, v, pass.cancel, in_tiles);
    } else {
        z = at::empty({in.q.size(1), in.q.size(0), v.size(2)}, in.q.options());
        whole ? attend_whole(pass, layer, hooks, in, v, z) : in_tiles(in, v, z);
    }
    if (pass.earlier) z = z.narrow(0, pass.past(), pass.tokens());
    return pass.hook(hooks.z, layer, z);
}

at::Tensor combine_heads(Pass& pass, Layer layer, const AttentionHooks& hooks, const Linear& o, const at::Tensor& z) {
    if (pass.wants(hooks.result, layer)) {
        const at::Tensor result = head_results(pass, o, z);
        const at::Tensor seen = pass.hook(hooks.result, layer, result);
        if (!seen.is_same(result)) return o.bias.defined() ? seen.sum(1) + o.bias : seen.sum(1);
    }
    return apply(pass, o, z.reshape({z.size(0), -1}));
}

at::Tensor attention(Pass& pass, Layer layer, const at::Tensor& resid_pre) {
    const auto held = weights_of(pass.model, layer, LayerPart::attention);
    const LayerWeights& w = *held;
    const ModelConfig& c = pass.config();
    at::Tensor x = resid_pre;
    if (norm_before_attention(c, layer.value)) x = norm(pass, w.ln1, resid_pre, Hook::ln1_scale, Hook::ln1_normalized, layer);
    if (c.parallel) pass.resid_pre = resid_pre;
    if (c.shared_norm) pass.shared_norm = x;

    auto [q, k, v] = project(pass, layer, w, x);
    const auto normalise = [&] {
        q = norm_heads(pass, w.q_norm, q, Hook::q_norm_scale, Hook::q_norm_normalized, layer);
        k = norm_heads(pass, w.k_norm, k, Hook::k_norm_scale, Hook::k_norm_normalized, layer);
    };
    const bool normed = has_qk_norm(c, layer.value);
    if (normed && !c.norm_after_rotation) normalise();
    if (c.positions == Positions::rotary) {
        q = rotate(pass, layer, q);
        k = rotate(pass, layer, k);
        if (normed && c.norm_after_rotation) normalise();
        q = hook_heads(pass, Hook::rot_q, layer, grown(pass, layer, q));
        k = hook_heads(pass, Hook::rot_k, layer, k);
    }
    std::int64_t window = window_of(c, layer.value);
    if (pass.cache) std::tie(k, v) = pass.cache->append(layer, k, v);
    if (pass.earlier) {
        const EarlierRows::Attention before = pass.earlier->attention(layer);
        const auto behind = [&](const at::Tensor& first, const at::Tensor& last) {
            return at::cat({first.to(last.device()), last}, 1);
        };
        q = behind(before.q, q);
        k = behind(before.k, k);
        v = behind(before.v, v);
    }
    const bool cached = pass.cache && pass.past() > 0;
    if (cached && window != 0) {  // the keys that a single later token can attend to are the last ones
        const KeyRange seen = legal_keys(k.size(1) - 1, k.size(1), true, window);
        k = k.narrow(1, seen.first, seen.count()).contiguous();
        v = v.narrow(1, seen.first, seen.count()).contiguous();
        window = 0;
    }
    // A single token after others may attend to all of these. (ALiBi then counts from its start, which adds the same number to
    // every key of the row, which a softmax does not see.)
    const auto input = [&](const Pass& of, const at::Tensor& queries, const at::Tensor& keys) {
        return AttentionInput{.q = queries,
                              .k = keys,
                              .alibi_slopes = pass.model.alibi_slopes,
                              .scale = score_scale_of(c, layer.value),
                              .causal = c.causal && !cached,
                              .window = window,
                              .softcap = c.score_softcap,
                              .relative_bias = relative_bias(pass.model, layer, of.buckets),
                              .key_bias = of.key_bias,
                              .sinks = w.sinks,
                              .relative = relative_tables(pass.model, layer, 0, queries, keys),
                              .content = c.latent.content,
                              .wide = c.wide_scores,
                              .bfloat16_products = pass.in_bfloat16(queries.size(1))};
    };
    at::Tensor z;
    if (pass.stack) {
        z = attend_stacked(*pass.stack, {Hook::pattern, layer}, q, k, v,
                           [&](const at::Tensor& queries, const at::Tensor& keys) { return input(pass, queries, keys); });
        z = pass.hook(Hook::z, layer, z);
    } else if (pass.pack) {
        z = attend_packed(*pass.pack, layer, q, k, v, input);
    } else {
        const AttentionInput in = input(pass, q, k);
        pass.observer.attention_input(layer, in);
        z = attend(pass, layer, kOwnAttention, in, v);
    }

    if (pass.ends_at_z && layer.value + 1 == pass.layers) return {};
    at::Tensor out = combine_heads(pass, layer, kOwnAttention, w.o, z);
    if (c.branch_norm) out = norm(pass, w.ln1_post, out, Hook::ln1_post_scale, Hook::ln1_post_normalized, layer);
    out = pass.hook(Hook::attn_out, layer, out);
    at::Tensor resid = (c.residual_after_norm ? x : resid_pre) + out;
    if (c.post_norm) resid = norm(pass, w.ln1, resid, Hook::ln1_scale, Hook::ln1_normalized, layer);
    return pass.hook(Hook::resid_mid, layer, resid);
}

}  // namespace headlight::model
