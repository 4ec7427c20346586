// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/tensors.h"

#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "headlight/trace/remade.h"
#include "headlight/trace/weights.h"
#include "model/blocks/disentangled.h"
#include "model/blocks/experts.h"
#include "model/blocks/pass.h"
#include "model/internals.h"
#include "trace/internals.h"
#include "trace/pieces.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

/// Made again where the run did not keep it.
at::Tensor stored(const Trace& trace, HookPoint point) {
    if (std::optional<at::Tensor> tensor = available_tensor(trace, point)) return *std::move(tensor);
    throw Error(
        {.problem = "This trace did not keep a tensor", .item = name_of(point), .hint = "Run again with it in the capture list"});
}

void check_layer(const Trace& trace, Layer layer) {
    if (layer.value >= 0 && layer.value < trace.config().n_layers) return;
    throw Error({.problem = "There is no such layer",
                 .expected = "0 to " + std::to_string(trace.config().n_layers - 1),
                 .found = std::to_string(layer.value)});
}

void check_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count, std::int64_t rows) {
    check_layer(trace, layer);
    if (head.value < 0 || head.value >= trace.config().n_heads) {
        throw Error({.problem = "There is no such head",
                     .expected = "0 to " + std::to_string(trace.config().n_heads - 1),
                     .found = std::to_string(head.value)});
    }
    if (first < 0 || count < 0 || first > rows || count > rows - first) {
        throw Error({.problem = "There are no such rows",
                     .expected = "rows within " + std::to_string(rows) + " tokens",
                     .found = std::to_string(count) + " rows from " + std::to_string(first)});
    }
}

void check_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    check_rows(trace, layer, head, first, count, trace.tokens());
}

/// The bias by distance of all heads, or of one.
at::Tensor relative_bias(const Trace& trace, Layer layer, std::int64_t head) {
    if (!has_relative_bias(trace.config())) return {};
    const model::Model::Internals& m = trace.model()->internals();
    const at::Tensor all = model::relative_bias(m, layer, model::distance_buckets(m, trace.tokens())).to(at::kCPU);
    return head >= 0 ? all.narrow(0, head, 1) : all;
}

bool in_bfloat16(const Trace& trace) { return model::has_bfloat16_products(trace.model()->dtype()); }

/// What one head's scores are made of (or all heads': head < 0). q and k are [pos, head, d_head] in the trace.
model::AttentionInput attention_of(const Trace& trace, Layer layer, std::int64_t head, at::Tensor queries, at::Tensor keys,
                                   bool with_relative = true) {
    const model::ModelConfig& c = trace.config();
    at::Tensor slopes = trace.model()->internals().alibi_slopes;
    if (slopes.defined()) slopes = slopes.to(at::kCPU);
    at::Tensor key_bias;
    if (c.positions == model::Positions::alibi && c.alibi == model::Alibi::falcon) key_bias = model::alibi_bias(c, keys.size(0));
    at::Tensor sinks;  // a saved trace has patterns and no layers of weights
    if (c.attention_sinks) sinks = trace.model()->internals().layers[static_cast<std::size_t>(layer.value)].sinks.to(at::kCPU);
    if (head >= 0) {
        queries = queries.narrow(1, head, 1);
        keys = keys.narrow(1, head / (c.n_heads / c.n_kv_heads), 1);
        if (slopes.defined()) slopes = slopes.narrow(0, head, 1);
        if (key_bias.defined()) key_bias = key_bias.narrow(0, head, 1);
        if (sinks.defined()) sinks = sinks.narrow(0, head, 1);
    }
    queries = queries.transpose(0, 1).contiguous();
    keys = keys.transpose(0, 1).contiguous();
    if (model::has_implied_map(c, layer.value)) {
        const auto of_head = [&](Hook hook) {
            const at::Tensor all = stored(trace, {hook, layer});
            return head < 0 ? all : all.narrow(1, head, 1);
        };
        return {.q = queries,
                .k = keys,
                .alibi_slopes = {},
                .state = model::state_factors(of_head(Hook::step), of_head(Hook::decay))};
    }
    model::RelativeTables relative;
    if (with_relative)
        relative = model::relative_tables(trace.model()->internals(), layer, std::max<std::int64_t>(head, 0), queries, keys);
    return {.q = queries,
            .k = keys,
            .alibi_slopes = slopes,
            .scale = model::score_scale_of(c, layer.value),
            .causal = c.causal,
            .window = model::window_of(c, layer.value),
            .softcap = c.score_softcap,
            .relative_bias = relative_bias(trace, layer, head),
            .key_bias = key_bias,
            .sinks = sinks,
            .relative = relative,
            .content = c.latent.content,
            .wide = c.wide_scores,
            .bfloat16_products = in_bfloat16(trace)};
}

model::AttentionInput attention_of(const Trace& trace, Layer layer, std::int64_t head = -1) {
    const bool rotary = trace.config().positions == model::Positions::rotary;
    const at::Tensor queries = stored(trace, {rotary ? Hook::rot_q : Hook::q, layer});
    return attention_of(trace, layer, head, queries, stored(trace, {rotary ? Hook::rot_k : Hook::k, layer}));
}

/// A pattern, scores, a term of them, or what sinks take: heads [head0, +heads), queries [row0, +rows).
at::Tensor tile_of(const model::AttentionInput& in, Hook hook, std::int64_t head0, std::int64_t heads, std::int64_t row0,
                   std::int64_t rows) {
    switch (hook) {
        case Hook::c2p:
        case Hook::p2c: return model::relative_term(in, hook, head0, heads, row0, rows);
        case Hook::content_scores:
        case Hook::rotary_scores: return model::score_part(in, hook, head0, heads, row0, rows);
        case Hook::implied:
        case Hook::pattern: return model::pattern_tile(in, head0, heads, row0, rows);
        case Hook::attn_scores: return model::score_tile(in, head0, heads, row0, rows);
        default: return model::sink_tile(in, head0, heads, row0, rows);
    }
}

/// Error for scores and patterns of a layer without a softmax, and for the implied map of one with it.
void require_hook(const model::ModelConfig& c, Hook hook, Layer layer) {
    const bool implied = hook == Hook::implied;
    if (implied == model::has_implied_map(c, layer.value)) return;
    if (!implied) model::require_attention(c, layer.value, "'" + model::name_of(HookPoint{hook, layer}) + "'");
    throw Error({.problem = "This layer has softmax attention, and no implied map",
                 .item = model::name_of(HookPoint{hook, layer}),
                 .hint = "Read its pattern"});
}

/// One head's rows of such a tensor: as the run kept them, or computed.
at::Tensor rows_of_head(const Trace& trace, Hook hook, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    check_rows(trace, layer, head, first, count);
    require_hook(trace.config(), hook, layer);
    if (const at::Tensor* kept = find_stored(trace, {hook, layer})) return kept->select(0, head.value).narrow(0, first, count);
    const at::NoGradGuard no_grad;
    return tile_of(attention_of(trace, layer, head.value), hook, 0, 1, first, count).squeeze(0);
}

const model::LayerWeights& layer_weights(const Trace& trace, Layer layer) {
    return trace.model()->internals().layers[static_cast<std::size_t>(layer.value)];
}

/// What W_O reads of each head: [head, pos, d_value].
at::Tensor read_by_output(const Trace& trace, Layer layer, std::int64_t first, std::int64_t count) {
    const auto rows = [&](Hook hook) { return stored(trace, {hook, layer}).narrow(0, first, count); };
    if (!model::has_implied_map(trace.config(), layer.value)) return rows(Hook::z).transpose(0, 1);
    const at::Tensor normalized = rows(Hook::gate_norm_normalized), gain = layer_weights(trace, layer).gate_norm.to(at::kCPU);
    return (normalized * gain.view({normalized.size(1), normalized.size(2)})).transpose(0, 1);
}

at::Tensor head_results(const Trace& trace, Layer layer, std::int64_t first, std::int64_t count) {
    const at::Tensor by_head = read_by_output(trace, layer, first, count);
    const at::Tensor w_o = attention_output(*trace.model(), layer).w_o.to(at::kCPU);
    if (!in_bfloat16(trace)) return at::matmul(by_head, w_o).transpose(0, 1);
    const model::ForwardInput input;
    model::NoObserver nobody;
    const model::Pass pass{.model = trace.model()->internals(), .input = input, .observer = nobody};
    std::vector<at::Tensor> heads;
    for (std::int64_t h = 0; h < by_head.size(0); ++h) heads.push_back(model::product(pass, by_head[h], w_o[h]));
    return at::stack(heads, 1);
}

at::Tensor mlp_post(const Trace& trace, Layer layer, std::int64_t first, std::int64_t count) {
    const model::ModelConfig& c = trace.config();
    const auto rows = [&](Hook hook) { return stored(trace, {hook, layer}).narrow(0, first, count); };
    if (model::has_experts(c, layer.value))
        return model::expert_post(c, rows(Hook::mlp_pre), rows(Hook::mlp_pre_linear), rows(Hook::experts),
                                  c.experts.shared_gate ? rows(Hook::shared_gate) : at::Tensor());
    at::Tensor pre = rows(Hook::mlp_pre).contiguous();
    if (c.activation == model::Activation::xielu)  // a saved trace has no weights, and no hidden units without them
        return trace.model()->internals().layers.empty() ? rows(Hook::mlp_post)
                                                         : model::bias_and_activate(pre, {}, c, layer_weights(trace, layer));
    at::Tensor post = model::bias_and_activate(pre, {}, c.activation);
    return c.gated_mlp ? post.mul_(rows(Hook::mlp_pre_linear)) : post;
}

/// The stream that the MLP reads.
Hook mlp_input(const model::ModelConfig& c) {
    return c.parallel ? Hook::resid_pre : has_cross_attention(c) ? Hook::resid_mid_cross : Hook::resid_mid;
}

/// The hooks of a decoder's cross attention that its separate trace computes on demand.
std::optional<Hook> in_cross(Hook hook) {
    for (const Hook own : {Hook::ln1_normalized, Hook::attn_scores, Hook::pattern, Hook::result})
        if (model::in_decoder(own) == hook) return own;
    return std::nullopt;
}

/// (x - mean) / scale of the stream that a norm read; post-norm models: of the sum it read.
at::Tensor normalized(const Trace& trace, HookPoint point, Hook source, Hook scale) {
    const model::ModelConfig& c = trace.config();
    at::Tensor x;
    if (point.hook == Hook::ln_final_normalized) {
        x = stored(trace, {source, Layer(c.n_layers - 1)});
    } else {
        x = stored(trace, {source, point.layer});
        if (c.post_norm) x = x + stored(trace, {source == Hook::attn_out ? Hook::resid_pre : mlp_input(c), point.layer});
    }
    at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    if (c.norm == model::Norm::layer_norm) wide = wide - wide.mean(-1, true);
    const Layer at = model::has_layer(scale) ? point.layer : Layer(0);
    return (wide / stored(trace, {scale, at}).to(wide.scalar_type())).to(x.scalar_type());
}

/// [head, query, key] and made of what the trace stores, or [head, query] from the same.
bool is_of_heads(Hook hook) {
    return hook == Hook::pattern || hook == Hook::implied || hook == Hook::attn_scores || hook == Hook::sink ||
           model::is_score_term(hook);
}

}  // namespace

const at::Tensor* find_stored(const Trace& trace, HookPoint point) {
    const auto& all = trace.internals().stored;
    const auto found = all.find(point);
    return found == all.end() ? nullptr : &found->second;
}

at::Tensor tensor(const Trace& trace, HookPoint point) {
    if (model::has_layer(point.hook)) check_layer(trace, point.layer);
    if (std::optional<at::Tensor> there = available_tensor(trace, point)) return *std::move(there);
    if (const auto hook = in_cross(point.hook); hook && trace.part(model::Stack::cross))
        return tensor(*trace.part(model::Stack::cross), {*hook, point.layer});
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = trace.config();
    if (is_of_heads(point.hook)) {
        require_hook(c, point.hook, point.layer);
        return tile_of(attention_of(trace, point.layer), point.hook, 0, c.n_heads, 0, trace.tokens());
    }
    switch (point.hook) {
        case Hook::result: return head_results(trace, point.layer, 0, trace.tokens());
        case Hook::mlp_post: return mlp_post(trace, point.layer, 0, trace.tokens());
        case Hook::ln1_normalized:
            return normalized(trace, point, c.post_norm ? Hook::attn_out : Hook::resid_pre, Hook::ln1_scale);
        case Hook::ln2_normalized: return normalized(trace, point, c.post_norm ? Hook::mlp_out : mlp_input(c), Hook::ln2_scale);
        case Hook::ln_final_normalized: return normalized(trace, point, Hook::resid_post, Hook::ln_final_scale);
        default: return stored(trace, point);
    }
}

at::Tensor tensor_rows(const Trace& trace, HookPoint point, std::int64_t first, std::int64_t count) {
    if (is_of_heads(point.hook) && point.hook != Hook::sink)
        throw Error(
            {.problem = "Rows of all heads cannot be returned as one tensor", .item = name_of(point), .hint = "Choose a head"});
    const bool of_keys = point.hook == Hook::k || point.hook == Hook::v;
    check_rows(trace, model::has_layer(point.hook) ? point.layer : Layer(0), Head(0), first, count,
               of_keys ? trace.keys() : trace.tokens());
    const at::NoGradGuard no_grad;
    if (!find_stored(trace, point)) {
        if (point.hook == Hook::result) return head_results(trace, point.layer, first, count);
        if (point.hook == Hook::mlp_post) return mlp_post(trace, point.layer, first, count);
    }
    if (const std::optional<at::Tensor> rows = available_rows(trace, point, first, count)) return *rows;
    return tensor(trace, point).narrow(0, first, count);
}

namespace {

bool is_of_rows(Hook hook) { return hook == Hook::result || hook == Hook::mlp_post || hook == Hook::logits; }

}  // namespace

double piece_bytes(Hook hook, const std::vector<std::int64_t>& shape, std::int64_t element_bytes) {
    hook = in_cross(hook).value_or(hook);
    const auto bytes_from = [&](std::size_t axis) {
        return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), shape.end(),
                               static_cast<double>(element_bytes), std::multiplies<>());
    };
    const auto limit = static_cast<double>(kPieceBytes);
    if (is_of_heads(hook)) return std::min(bytes_from(0), std::max(limit, bytes_from(2)));
    if (is_of_rows(hook)) return std::min(bytes_from(0), std::max(limit, static_cast<double>(kLogitRows) * bytes_from(1)));
    return bytes_from(0);
}

namespace {

/// All rows of as many heads as a piece holds, or of one head the rows that it holds.
void for_pieces_of_heads(const Trace& trace, HookPoint point, const std::function<void(const at::Tensor&)>& read) {
    require_hook(trace.config(), point.hook, point.layer);
    const model::AttentionInput in = attention_of(trace, point.layer);
    const std::int64_t all = in.q.size(0), tokens = trace.tokens();
    const std::int64_t row_bytes = trace.keys() * static_cast<std::int64_t>(in.q.element_size());
    const std::int64_t rows = std::clamp<std::int64_t>(kPieceBytes / row_bytes, 1, tokens);
    const std::int64_t heads = std::clamp<std::int64_t>(kPieceBytes / (row_bytes * tokens), 1, all);
    for (std::int64_t head = 0; head < all; head += heads)
        for (std::int64_t row = 0; row < tokens; row += rows)
            read(tile_of(in, point.hook, head, std::min(heads, all - head), row, std::min(rows, tokens - row)).contiguous());
}

}  // namespace

void for_pieces(const Trace& trace, HookPoint point, const std::function<void(const at::Tensor&)>& read) {
    if (const auto hook = in_cross(point.hook); hook && trace.part(model::Stack::cross) && !find_stored(trace, point))
        return for_pieces(*trace.part(model::Stack::cross), {*hook, point.layer}, read);
    if (model::has_layer(point.hook)) check_layer(trace, point.layer);
    const bool whole = find_stored(trace, point) || !(is_of_heads(point.hook) || is_of_rows(point.hook));
    if (whole) return read(tensor(trace, point).contiguous());
    const at::NoGradGuard no_grad;
    if (is_of_heads(point.hook)) return for_pieces_of_heads(trace, point, read);
    const at::Tensor first = tensor_rows(trace, point, 0, 1);
    const std::int64_t fit = kPieceBytes / std::max<std::int64_t>(1, static_cast<std::int64_t>(first.nbytes()));
    // Tiles of logits are computed whole: no piece ends within one.
    const std::int64_t rows = std::max(kLogitRows, fit / kLogitRows * kLogitRows);
    for (std::int64_t row = 0; row < trace.tokens(); row += rows) {
        WorkingFor::token().throw_if_cancelled();
        read(tensor_rows(trace, point, row, std::min(rows, trace.tokens() - row)).contiguous());
    }
}

at::ScalarType type_of(const Trace& trace, HookPoint point) {
    if (const at::Tensor* kept = find_stored(trace, point)) return kept->scalar_type();
    if (const auto hook = in_cross(point.hook); hook && trace.part(model::Stack::cross))
        return type_of(*trace.part(model::Stack::cross), {*hook, point.layer});
    if (is_of_heads(point.hook)) return rows_of_head(trace, point.hook, point.layer, Head(0), 0, 1).scalar_type();
    return tensor_rows(trace, point, 0, 1).scalar_type();
}

at::Tensor pattern_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    return rows_of_head(trace, Hook::pattern, layer, head, first, count);
}

void for_pattern_rows(const Trace& trace, Layer layer, std::int64_t first_head, std::int64_t heads, std::int64_t group,
                      const PatternRowsFn& read) {
    check_rows(trace, layer, Head(first_head + heads - 1), 0, trace.tokens());
    require_hook(trace.config(), Hook::pattern, layer);
    const at::NoGradGuard no_grad;
    const at::Tensor* kept = find_stored(trace, {Hook::pattern, layer});
    if (!kept) return model::for_pattern_rows(attention_of(trace, layer), first_head, heads, group, read);
    constexpr std::int64_t block = 64;
    const std::int64_t tokens = trace.tokens(), down = (tokens + block - 1) / block;
    at::parallel_for(0, (heads + group - 1) / group * down, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t before = i / down * group, first = i % down * block;
            const at::Tensor of_heads = kept->narrow(0, first_head + before, std::min(group, heads - before));
            read(first_head + before, first, of_heads.narrow(1, first, std::min(block, tokens - first)));
        }
    });
}

at::Tensor implied_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    return rows_of_head(trace, Hook::implied, layer, head, first, count);
}

at::Tensor score_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    return rows_of_head(trace, Hook::attn_scores, layer, head, first, count);
}

RelativeTerms relative_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    check_rows(trace, layer, head, first, count);
    const model::Disentangled& d = trace.config().disentangled;
    const auto rows = [&](Hook hook) { return rows_of_head(trace, hook, layer, head, first, count); };
    return {.c2p = d.content_to_position ? rows(Hook::c2p) : at::Tensor{},
            .p2c = d.position_to_content ? rows(Hook::p2c) : at::Tensor{}};
}

ScoreParts score_part_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    check_rows(trace, layer, head, first, count);
    if (!trace.config().latent.any()) return {};
    return {.content = rows_of_head(trace, Hook::content_scores, layer, head, first, count),
            .rotary = rows_of_head(trace, Hook::rotary_scores, layer, head, first, count)};
}

at::Tensor relative_pairs(const Trace& trace, Layer layer, Head head, const at::Tensor& queries, const at::Tensor& keys) {
    check_rows(trace, layer, head, 0, 0);
    const at::NoGradGuard no_grad;
    const model::RelativeTables tables = attention_of(trace, layer, head.value).relative;
    const at::Tensor column = tables.rows.index_select(0, queries - keys + (trace.tokens() - 1));
    const auto picked = [](const at::Tensor& t, const at::Tensor& row, const at::Tensor& at) {
        return t.reshape({-1}).index_select(0, row * t.size(1) + at);
    };
    at::Tensor sum;
    for (const Hook hook : {Hook::c2p, Hook::p2c}) {
        const at::Tensor& table = hook == Hook::c2p ? tables.c2p : tables.p2c;
        if (!table.defined()) continue;
        const at::Tensor* kept = find_stored(trace, {hook, layer});
        const at::Tensor term = kept ? picked(kept->select(0, head.value), queries, keys)
                                     : picked(table[0], hook == Hook::c2p ? queries : keys, column);
        sum = sum.defined() ? sum + term : term;
    }
    return sum;
}

at::Tensor position_rows(const Trace& trace, Layer layer, Head head, std::int64_t first, std::int64_t count) {
    check_rows(trace, layer, head, first, count);
    require_hook(trace.config(), Hook::attn_scores, layer);
    const model::ModelConfig& c = trace.config();
    const at::NoGradGuard no_grad;
    constexpr double illegal = -std::numeric_limits<double>::infinity();
    const at::Tensor queries = at::arange(first, first + count, at::kDouble).unsqueeze(1);
    const at::Tensor keys = at::arange(trace.keys(), at::kDouble).unsqueeze(0);
    at::Tensor term;
    if (c.positions == model::Positions::alibi) {
        const at::Tensor bias = model::alibi_bias(c, trace.keys())[head.value];
        term = (bias.unsqueeze(0) - bias.narrow(0, first, count).unsqueeze(1)).to(trace.model()->internals().dtype);
    } else if (has_relative_bias(c)) {
        const at::Tensor bias = relative_bias(trace, layer, head.value).select(0, 0);
        term = bias.index_select(0, (keys - queries + static_cast<double>(trace.tokens() - 1)).to(at::kLong).flatten())
                   .view({count, trace.keys()});
    } else if (c.positions == model::Positions::rotary) {
        model::AttentionInput plain = attention_of(trace, layer, head.value, before_rotation(trace, layer, Hook::q),
                                                   before_rotation(trace, layer, Hook::k));
        at::Tensor whole;
        if (c.score_softcap > 0) {  // the cap is no sum: the term is part of the score before it
            model::AttentionInput rotated = attention_of(trace, layer, head.value);
            rotated.softcap = plain.softcap = 0;
            whole = model::score_tile(rotated, 0, 1, first, count).squeeze(0);
        } else {
            whole = score_rows(trace, layer, head, first, count);
        }
        term = whole - model::score_tile(plain, 0, 1, first, count).squeeze(0);
    } else if (c.disentangled.any()) {
        const RelativeTerms terms = relative_rows(trace, layer, head, first, count);
        term = !terms.p2c.defined() ? terms.c2p : !terms.c2p.defined() ? terms.p2c : terms.c2p + terms.p2c;
    } else {
        return {};
    }
    if (c.causal) term.masked_fill_(keys > queries, illegal);
    const std::int64_t window = model::window_of(c, layer.value);
    if (window == 0) return term;
    if (window > 0) return term.masked_fill_((queries - keys).abs() >= static_cast<double>(window), illegal);
    const auto chunk = [&](const at::Tensor& positions) { return at::div(positions, static_cast<double>(-window), "floor"); };
    return term.masked_fill_(chunk(queries) != chunk(keys), illegal);
}

at::Tensor before_rotation(const Trace& trace, Layer layer, Hook which) {
    check_layer(trace, layer);
    require_hook(trace.config(), Hook::attn_scores, layer);
    const at::NoGradGuard no_grad;
    const model::LayerWeights& w = layer_weights(trace, layer);
    const at::Tensor x = stored(trace, {which, layer});
    if (!model::has_qk_norm(trace.config(), layer.value)) return x;
    const auto here = [](const at::Tensor& t) { return t.defined() ? t.to(at::kCPU) : t; };
    const model::NormWeights& norm = which == Hook::q ? w.q_norm : w.k_norm;
    return model::normed_heads(trace.config(), {here(norm.gain), here(norm.bias)}, x);
}

at::Tensor through_rotation(const Trace& trace, Layer layer, Hook which, std::int64_t head, const at::Tensor& summands,
                            std::int64_t first) {
    check_layer(trace, layer);
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = trace.config();
    const model::Model::Internals& model = trace.model()->internals();
    const auto normed = [&](at::Tensor x) {
        const model::LayerWeights& w = layer_weights(trace, layer);
        const model::NormWeights& norm = which == Hook::q ? w.q_norm : w.k_norm;
        const auto own = [&](const at::Tensor& t) {
            if (!t.defined()) return at::ones({}, at::kDouble);
            const at::Tensor here = t.to(at::kCPU, at::kDouble);
            return here.numel() == x.size(2) ? here.view({-1}) : here.view({-1, x.size(2)})[head];
        };
        const Hook hook = which == Hook::q ? Hook::q_norm_scale : Hook::k_norm_scale;
        const at::Tensor scales = tensor_rows(trace, {hook, layer}, first, x.size(0)).to(at::kDouble);
        const at::Tensor scale = scales.select(1, scales.size(1) == 1 ? 0 : head).unsqueeze(2);  // [row, 1, 1]
        if (c.qk_norm_kind == model::Norm::layer_norm) x = x - x.mean(2, true);
        x = x / scale * own(norm.gain);
        if (norm.bias.defined()) x.select(1, x.size(1) - 1).add_(own(norm.bias));
        return x;
    };
    const bool norms = model::has_qk_norm(c, layer.value);
    at::Tensor x = norms && !c.norm_after_rotation ? normed(summands) : summands;
    if (c.positions != model::Positions::rotary) return x;
    x = model::rotate_rows(model, layer, x.transpose(0, 1).contiguous(), which == Hook::q, first, trace.keys()).transpose(0, 1);
    return norms && c.norm_after_rotation ? normed(x) : x;
}

at::Tensor pattern_column(const Trace& trace, Layer layer, Head head, Position key) {
    check_rows(trace, layer, head, 0, 0);
    if (key.value < 0 || key.value >= trace.keys()) {
        throw Error({.problem = "There is no such key position",
                     .expected = "0 to " + std::to_string(trace.keys() - 1),
                     .found = std::to_string(key.value)});
    }
    require_hook(trace.config(), Hook::pattern, layer);
    if (const at::Tensor* kept = find_stored(trace, {Hook::pattern, layer})) {
        return kept->select(0, head.value).select(1, key.value);
    }
    const at::NoGradGuard no_grad;
    const model::AttentionInput input = attention_of(trace, layer, head.value);
    at::Tensor column = at::zeros({trace.tokens()}, input.q.options());
    constexpr std::int64_t block = 128;
    for (std::int64_t first = trace.config().causal ? key.value / block * block : 0; first < trace.tokens();) {
        const std::int64_t count = std::min(block, trace.tokens() - first);
        column.narrow(0, first, count).copy_(model::pattern_tile(input, 0, 1, first, count).select(2, key.value)[0]);
        first += count;
    }
    return column;
}

}  // namespace headlight::trace
