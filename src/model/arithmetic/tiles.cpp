// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/tiles.h"

#include "headlight/base/error.h"
#include "headlight/base/flush_denormals.h"
#include "headlight/base/working_for.h"
#include "model/arithmetic/bfloat16_products.h"
#include "model/arithmetic/kernels.h"
#include "model/blocks/disentangled.h"
#include "model/blocks/pass.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace headlight::model {
namespace {

constexpr std::int64_t kRows = 64;  // a tile of 64 x 2,048 floats stays in a 1 MiB cache
/// Of a long text no tile does: products with more rows read keys and values less often.
constexpr std::int64_t kRowsOfLong = 128, kLong = 8192;
static_assert(kRows <= bfloat16_products::kTileRows);
constexpr std::int64_t kDeviceTile = 1 << 23;  // elements of a tile without own kernels: few launches, bounded memory

/// Of the tile's columns.
KeyRange legal_of(const AttentionInput& in, const Tile& t, std::int64_t row) {
    return legal_keys(t.row0 + row, t.keys, in.causal, in.window);
}

/// Keys of a long text are read in blocks, each turned: a library that turns them itself does so for every tile, at up to half
/// of the rate. Sizes alone decide, so that equal scores have equal bits.
constexpr std::int64_t kBlockKeys = 384, kFewKeys = 512;

bool in_blocks(const AttentionInput& in) { return in.k.scalar_type() == at::kFloat && in.k.size(1) > kFewKeys; }

/// Keys [count, d] -> [d, kBlockKeys].
void turn(const float* keys, std::int64_t count, std::int64_t d, float* out) {
    constexpr std::int64_t kLine = 16;
    for (std::int64_t first = 0; first < count; first += kLine) {
        const std::int64_t last = std::min(first + kLine, count);
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = first; j < last; ++j) out[i * kBlockKeys + j] = keys[j * d + i];
    }
}

bool in_bfloat16(const AttentionInput& in) {
    return in.bfloat16_products && in.q.scalar_type() == at::kFloat && has_kernels(in.q);
}

const std::int16_t* of_kv_head(const at::Tensor& packed, std::int64_t head) {
    return packed.data_ptr<std::int16_t>() + head * packed.stride(0);
}

void products_in_bfloat16(const AttentionInput& in, const Tile& t, const float* q, const at::Tensor& packed, float* s) {
    const std::int64_t d = in.q.size(2), kv_head = t.head0 / (in.q.size(0) / in.k.size(0));
    const at::Tensor own =
        packed.defined() ? packed : bfloat16_products::packed_keys(in.k.narrow(0, kv_head, 1).narrow(1, 0, t.keys).contiguous());
    bfloat16_products::scores({q, t.rows, d}, d, of_kv_head(own, packed.defined() ? kv_head : 0), t.keys, s, t.keys);
}

void products_in_blocks(const AttentionInput& in, const Tile& t, const float* q, const at::Tensor& turned, float* s) {
    const std::int64_t d = in.q.size(2), keys = in.k.size(1), kv_head = t.head0 / (in.q.size(0) / in.k.size(0));
    std::vector<float> own(turned.defined() ? 0 : static_cast<std::size_t>(d * kBlockKeys));
    for (std::int64_t first = 0; first < t.keys; first += kBlockKeys) {
        const float* block = own.data();
        if (turned.defined())
            block = turned.data_ptr<float>() + kv_head * turned.stride(0) + first / kBlockKeys * turned.stride(1);
        else
            turn(in.k.data_ptr<float>() + (kv_head * keys + first) * d, std::min(kBlockKeys, keys - first), d, own.data());
        kernels::gemm(q, d, block, kBlockKeys, false, s + first, t.keys, t.rows, std::min(kBlockKeys, t.keys - first), d);
    }
}

template <class T>
void scores_on_cpu(const AttentionInput& in, const Tile& t, const TileFactors& factors, at::Tensor& out) {
    const std::int64_t d = in.q.size(2), group = in.q.size(0) / in.k.size(0);
    const T* q = in.q.data_ptr<T>() + (t.head0 * in.q.size(1) + t.row0) * d;
    const T* k = in.k.data_ptr<T>() + (t.head0 / group) * in.k.size(1) * d;
    T* s = out.data_ptr<T>();
    // Of a long text scores are many and queries few. A power of two scales every sum of products exactly: the bits are those of
    // scaled scores. (Other scales would round twice.)
    std::vector<T> scaled;
    T scale = static_cast<T>(in.scale);
    if (int exponent = 0; scale != 1 && std::frexp(scale, &exponent) == T(0.5)) {
        scaled.assign(q, q + t.rows * d);
        for (T& x : scaled) x *= scale;
        q = scaled.data();
        scale = 1;
    }
    bool done = false;
    if constexpr (std::is_same_v<T, float>) {
        done = in_bfloat16(in) || in_blocks(in);
        if (done)
            in_bfloat16(in) ? products_in_bfloat16(in, t, q, factors.keys, s) : products_in_blocks(in, t, q, factors.keys, s);
    }
    if (!done) kernels::gemm(q, d, k, d, true, s, t.keys, t.rows, t.keys, d);
    const double slope = in.alibi_slopes.defined() ? in.alibi_slopes.data_ptr<double>()[t.head0] : 0.0;
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const KeyRange legal = legal_of(in, t, r);
        T* row = s + r * t.keys + legal.first;
        if (scale != 1 || slope != 0) kernels::scores(row, legal.count(), scale, static_cast<T>(slope), t.row0 + r - legal.first);
        if (in.relative_bias.defined()) {
            const T* bias = in.relative_bias.data_ptr<T>() + t.head0 * in.relative_bias.size(1) + in.q.size(1) - 1 -
                            (t.row0 + r) + legal.first;
            for (std::int64_t j = 0; j < legal.count(); ++j) row[j] += bias[j];
        }
        if (in.key_bias.defined()) {
            const double* bias = in.key_bias.data_ptr<double>() + t.head0 * in.key_bias.size(1);
            for (std::int64_t j = 0; j < legal.count(); ++j) row[j] += static_cast<T>(bias[legal.first + j] - bias[t.row0 + r]);
        }
        if (in.relative.defined()) add_relative_terms(in.relative, t.head0, t.row0 + r, legal, row);
        if (in.softcap > 0) kernels::softcap(row, legal.count(), static_cast<T>(in.softcap));
    }
}

/// -inf: the head has none.
double sink_of(const AttentionInput& in, std::int64_t head) {
    return in.sinks.defined() ? in.sinks.data_ptr<double>()[head] : -std::numeric_limits<double>::infinity();
}

template <class T>
void softmax_on_cpu(const AttentionInput& in, const Tile& t, at::Tensor& tile, bool masked, const at::Tensor& sink,
                    std::vector<RowLogs>* logs) {
    const FlushDenormals flush;
    T* s = tile.data_ptr<T>();
    const T score = static_cast<T>(sink_of(in, t.head0));
    T* shares = sink.defined() ? sink.data_ptr<T>() + t.head0 * sink.size(1) + t.row0 : nullptr;
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const KeyRange legal = masked ? KeyRange{0, t.keys} : legal_of(in, t, r);
        T* row = s + r * t.keys;
        std::fill(row, row + legal.first, T{0});
        RowLogs* const of_row = logs ? &logs->emplace_back() : nullptr;
        const T share = kernels::softmax(row + legal.first, legal.count(), t.keys - legal.first, score, of_row);
        if (shares) shares[r] = share;
    }
}

template <class T>
void mix_on_cpu(const Tile& t, const at::Tensor& pattern, const at::Tensor& v, const at::Tensor& packed, at::Tensor& z) {
    const FlushDenormals flush;
    const std::int64_t heads = z.size(1), d = z.size(2), kv_head = t.head0 / (heads / v.size(0));
    const T* values = v.data_ptr<T>() + kv_head * v.size(1) * d;
    T* out = z.data_ptr<T>() + (t.row0 * heads + t.head0) * d;
    if constexpr (std::is_same_v<T, float>)
        if (packed.defined()) {
            const bfloat16_products::Rows rows{pattern.data_ptr<T>(), t.rows, t.keys};
            bfloat16_products::mix(rows, t.keys, of_kv_head(packed, kv_head), d, out, heads * d);
            return;
        }
    kernels::gemm(pattern.data_ptr<T>(), t.keys, values, d, false, out, heads * d, t.rows, d, t.keys);
}

/// Keys or values of the tile's heads, one per query head: [heads, key, d_head].
at::Tensor of_heads(const at::Tensor& kv, const Tile& t, std::int64_t n_heads) {
    const std::int64_t group = n_heads / kv.size(0);
    const at::Tensor heads = at::arange(t.head0, t.head0 + t.heads, at::TensorOptions(at::kLong).device(kv.device()));
    return kv.narrow(1, 0, t.keys).index_select(0, at::div(heads, group, "floor"));
}

at::ScalarType wide_type(const at::Tensor& t) { return t.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

/// True where the query may not see the key: [rows, keys].
at::Tensor illegal(const AttentionInput& in, const Tile& t, const at::Device& device) {
    const auto options = at::TensorOptions(at::kLong).device(device);
    const at::Tensor back = at::arange(t.row0, t.row0 + t.rows, options).unsqueeze(1) - at::arange(t.keys, options).unsqueeze(0);
    const at::Tensor future = in.causal ? back < 0 : at::zeros_like(back, at::kBool);
    if (in.window > 0) return future.logical_or(back.abs() >= in.window);
    if (in.window == 0) return future;
    const auto chunk = [&](std::int64_t first, std::int64_t count) {
        return at::div(at::arange(first, first + count, options), -in.window, "floor");
    };
    return future.logical_or(chunk(t.row0, t.rows).unsqueeze(1) != chunk(0, t.keys).unsqueeze(0));
}

}  // namespace

at::TensorOptions score_options(const AttentionInput& in) {
    return in.wide ? in.q.options().dtype(wide_type(in.q)) : in.q.options();
}

TilePlan tile_plan(const AttentionInput& in) {
    const std::int64_t heads = in.q.size(0), tokens = in.q.size(1), keys = in.k.size(1);
    if (has_kernels(in.q)) return {1, std::min(tokens, keys < kLong || in_bfloat16(in) ? kRows : kRowsOfLong)};
    // On a GPU all heads in few rows: a causal model's are shorter, and what reads them takes a head a thread.
    const std::int64_t across = in.q.is_cpu() ? 1 : heads;
    const std::int64_t rows = std::clamp(kDeviceTile / std::max<std::int64_t>(across * keys, 1), std::int64_t{1}, tokens);
    return {std::clamp(kDeviceTile / std::max<std::int64_t>(rows * keys, 1), std::int64_t{1}, heads), rows};
}

namespace {

/// Calls `work` for the tiles of `heads` heads, `group` at a time.
void for_tiles_of(const AttentionInput& in, std::int64_t first_head, std::int64_t heads, std::int64_t group,
                  const std::function<void(const Tile&)>& work) {
    const TilePlan plan = tile_plan(in);
    const std::int64_t tokens = in.q.size(1), keys = in.k.size(1);
    const std::int64_t across = (heads + group - 1) / group, down = (tokens + plan.rows - 1) / plan.rows;
    const auto tile = [&](std::int64_t index) {
        // Causal tiles grow with the row: pairing early and late ones gives every thread the same work.
        const std::int64_t at = index % down;
        const std::int64_t row0 = plan.rows * (at % 2 == 0 ? at / 2 : down - 1 - at / 2);
        const std::int64_t before = group * (index / down);
        const std::int64_t rows = std::min(plan.rows, tokens - row0);
        work({first_head + before, std::min(group, heads - before), row0, rows, in.causal ? std::min(keys, row0 + rows) : keys});
    };
    if (!has_kernels(in.q)) {
        for (std::int64_t i = 0; i < across * down; ++i) tile(i);
        return;
    }
    // A short text is done before a second thread wakes up.
    constexpr std::int64_t kWorthAThread = 1 << 18;  // multiplications
    const std::int64_t grain = std::max<std::int64_t>(1, kWorthAThread / (plan.rows * keys * in.q.size(2)));
    at::parallel_for(0, across * down, grain, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) tile(i);
    });
}

}  // namespace

void for_tiles(const AttentionInput& in, const std::function<void(const Tile&)>& work) {
    for_tiles_of(in, 0, in.q.size(0), tile_plan(in).heads, work);
}

namespace {

at::Tensor turned_keys(const AttentionInput& in) {
    const std::int64_t heads = in.k.size(0), keys = in.k.size(1), d = in.k.size(2), blocks = (keys + kBlockKeys - 1) / kBlockKeys;
    at::Tensor out = at::empty({heads, blocks, d, kBlockKeys}, in.k.options());
    at::parallel_for(0, heads * blocks, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t first = i % blocks * kBlockKeys;
            turn(in.k.data_ptr<float>() + (i / blocks * keys + first) * d, std::min(kBlockKeys, keys - first), d,
                 out.data_ptr<float>() + i * d * kBlockKeys);
        }
    });
    return out;
}

}  // namespace

TileFactors tile_factors(const AttentionInput& in, const at::Tensor& v) {
    if (!has_kernels(in.q)) return {};
    if (in_bfloat16(in))
        return {bfloat16_products::packed_keys(in.k), v.defined() ? bfloat16_products::packed_values(v) : at::Tensor()};
    return {in_blocks(in) ? turned_keys(in) : at::Tensor(), {}};
}

void fill_scores(const AttentionInput& in, const Tile& t, at::Tensor& out, const TileFactors& factors) {
    if (has_kernels(in.q)) {
        in.q.scalar_type() == at::kFloat ? scores_on_cpu<float>(in, t, factors, out) : scores_on_cpu<double>(in, t, factors, out);
        return;
    }
    const at::ScalarType wide = wide_type(in.q);
    const at::Tensor q = in.q.narrow(0, t.head0, t.heads).narrow(1, t.row0, t.rows).to(wide);
    at::Tensor s = at::matmul(q, of_heads(in.k, t, in.q.size(0)).to(wide).transpose(1, 2)) * in.scale;
    if (in.alibi_slopes.defined()) {
        const auto options = at::TensorOptions(at::kDouble).device(in.q.device());
        const at::Tensor distance =
            at::arange(t.keys, options).unsqueeze(0) - at::arange(t.row0, t.row0 + t.rows, options).unsqueeze(1);
        s = s + (in.alibi_slopes.narrow(0, t.head0, t.heads).view({-1, 1, 1}) * distance).to(wide);
    }
    if (in.relative_bias.defined()) {
        const auto options = at::TensorOptions(at::kLong).device(in.q.device());
        const at::Tensor at = at::arange(t.keys, options).unsqueeze(0) -
                              at::arange(t.row0, t.row0 + t.rows, options).unsqueeze(1) + (in.q.size(1) - 1);
        s = s +
            in.relative_bias.narrow(0, t.head0, t.heads).index_select(1, at.flatten()).view({t.heads, t.rows, t.keys}).to(wide);
    }
    if (in.key_bias.defined()) {
        const at::Tensor bias = in.key_bias.narrow(0, t.head0, t.heads);
        s = s + (bias.narrow(1, 0, t.keys).unsqueeze(1) - bias.narrow(1, t.row0, t.rows).unsqueeze(2)).to(wide);
    }
    for (const at::Tensor& table : {in.relative.c2p, in.relative.p2c})
        if (table.defined()) s = s + relative_part(in.relative, table, t);
    if (in.softcap > 0) s = (s / in.softcap).tanh() * in.softcap;
    out.copy_(s);
}

namespace {
template <class T>
void mask_on_cpu(const AttentionInput& in, const Tile& t, at::Tensor& tile) {
    T* s = tile.data_ptr<T>();
    constexpr T never = -std::numeric_limits<T>::infinity();
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const KeyRange legal = legal_of(in, t, r);
        T* row = s + r * t.keys;
        std::fill(row, row + legal.first, never);
        std::fill(row + legal.last, row + t.keys, never);
    }
}
}  // namespace

void mask_tile(const AttentionInput& in, const Tile& t, at::Tensor& tile) {
    if (!in.causal && in.window == 0) return;
    if (has_kernels(in.q)) {  // whose tiles are of one head
        tile.scalar_type() == at::kFloat ? mask_on_cpu<float>(in, t, tile) : mask_on_cpu<double>(in, t, tile);
        return;
    }
    tile.masked_fill_(illegal(in, t, tile.device()), -std::numeric_limits<double>::infinity());
}

namespace {

/// What a state space has for a softmax. Exponents are of sums of one sign, so that none is above 0 for a legal key.
void decay_tile(const AttentionInput& in, const Tile& t, at::Tensor& tile) {
    const auto of = [&](const at::Tensor& each) { return each.narrow(0, t.head0, t.heads); };
    const at::Tensor rows = of(in.state.decays).narrow(1, t.row0, t.rows).unsqueeze(2);
    const at::Tensor keys = of(in.state.decays).narrow(1, 0, t.keys).unsqueeze(1);
    const at::Tensor factor = (rows - keys).clamp_max(0).exp() * of(in.state.steps).narrow(1, 0, t.keys).unsqueeze(1);
    tile.copy_(tile.to(at::kDouble) * factor);
    tile.masked_fill_(illegal(in, t, tile.device()), 0);
}

}  // namespace

void softmax_tile(const AttentionInput& in, const Tile& t, at::Tensor& tile, bool masked, const at::Tensor& sink,
                  std::vector<RowLogs>* logs) {
    if (in.state.defined()) return decay_tile(in, t, tile);
    if (has_kernels(in.q)) {
        in.q.scalar_type() == at::kFloat ? softmax_on_cpu<float>(in, t, tile, masked, sink, logs)
                                         : softmax_on_cpu<double>(in, t, tile, masked, sink, logs);
        return;
    }
    if (!masked) mask_tile(in, t, tile);
    const at::Tensor scores = tile.to(wide_type(tile));
    if (!in.sinks.defined()) {
        tile.copy_(at::softmax(scores, -1));
        return;
    }
    const at::Tensor own = in.sinks.narrow(0, t.head0, t.heads).to(scores.device(), scores.scalar_type()).view({-1, 1, 1});
    const at::Tensor all = at::softmax(at::cat({scores, own.expand({t.heads, t.rows, 1})}, -1), -1);
    tile.copy_(all.narrow(-1, 0, t.keys));
    if (sink.defined()) sink.narrow(0, t.head0, t.heads).narrow(1, t.row0, t.rows).copy_(all.select(-1, t.keys));
}

void store_tile(at::Tensor& whole, const Tile& t, const at::Tensor& tile, double blank) {
    const at::Tensor rows = whole.narrow(0, t.head0, t.heads).narrow(1, t.row0, t.rows);
    rows.narrow(2, 0, t.keys).copy_(tile);
    if (t.keys < whole.size(2)) rows.narrow(2, t.keys, whole.size(2) - t.keys).fill_(blank);
}

void mix_tile(const Tile& t, const at::Tensor& pattern, const at::Tensor& v, const TileFactors& factors, at::Tensor& z) {
    if (has_kernels(pattern)) {
        pattern.scalar_type() == at::kFloat ? mix_on_cpu<float>(t, pattern, v, factors.values, z)
                                            : mix_on_cpu<double>(t, pattern, v, factors.values, z);
        return;
    }
    const at::Tensor out = at::matmul(pattern, of_heads(v, t, z.size(1)));  // [heads, rows, d_head]
    z.narrow(0, t.row0, t.rows).narrow(1, t.head0, t.heads).copy_(out.transpose(0, 1));
}

namespace {

/// Full rows of scores or patterns from whole tiles: equal bits, whichever rows are asked for. `sink` as in softmax_tile().
at::Tensor rows_of(const AttentionInput& in, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows,
                   bool patterns, const at::Tensor& sink = {}) {
    const std::int64_t tokens = in.q.size(1), keys = in.k.size(1);
    if (head0 < 0 || heads < 0 || head0 + heads > in.q.size(0) || row0 < 0 || rows < 0 || row0 + rows > tokens)
        throw Error(
            ErrorFacts{.problem = "No such part of a pattern",
                       .expected = "heads 0-" + std::to_string(in.q.size(0) - 1) + ", rows 0-" + std::to_string(tokens - 1),
                       .found = "heads from " + std::to_string(head0) + ", " + std::to_string(heads) + " of them; rows from " +
                                std::to_string(row0) + ", " + std::to_string(rows) + " of them"});
    const double blank = patterns ? 0.0 : -std::numeric_limits<double>::infinity();
    at::Tensor out = at::full({heads, rows, keys}, blank, patterns ? in.q.options() : score_options(in));
    if (heads == 0 || rows == 0) return out;
    const TilePlan plan = tile_plan(in);
    const std::int64_t first_tile = row0 / plan.rows, tiles = (row0 + rows - 1) / plan.rows - first_tile + 1;
    const std::int64_t first_group = head0 / plan.heads, groups = (head0 + heads - 1) / plan.heads - first_group + 1;
    const CancelToken wanted = WorkingFor::token();  // of this thread: the loop below has others too
    const auto one = [&](std::int64_t index) {
        wanted.throw_if_cancelled();
        const std::int64_t h0 = (first_group + index / tiles) * plan.heads, r0 = (first_tile + index % tiles) * plan.rows;
        const std::int64_t n = std::min(plan.rows, tokens - r0);
        const Tile t{h0, std::min(plan.heads, in.q.size(0) - h0), r0, n, in.causal ? std::min(keys, r0 + n) : keys};
        at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
        fill_scores(in, t, tile);
        patterns ? softmax_tile(in, t, tile, false, sink) : mask_tile(in, t, tile);
        const std::int64_t h_from = std::max(h0, head0), h_to = std::min(h0 + t.heads, head0 + heads);
        const std::int64_t r_from = std::max(r0, row0), r_to = std::min(r0 + n, row0 + rows);
        out.narrow(0, h_from - head0, h_to - h_from)
            .narrow(1, r_from - row0, r_to - r_from)
            .narrow(2, 0, t.keys)
            .copy_(tile.narrow(0, h_from - h0, h_to - h_from).narrow(1, r_from - r0, r_to - r_from));
    };
    if (!has_kernels(in.q)) {
        for (std::int64_t i = 0; i < groups * tiles; ++i) one(i);
    } else {
        at::parallel_for(0, groups * tiles, 1, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) one(i);
        });
    }
    return out;
}

}  // namespace

at::Tensor pattern_tile(const AttentionInput& in, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows) {
    return rows_of(in, head0, heads, row0, rows, true);
}

void for_pattern_rows(const AttentionInput& in, std::int64_t head0, std::int64_t heads, std::int64_t group,
                      const PatternRowsFn& work) {
    const TileFactors factors = tile_factors(in);
    const std::int64_t each = tile_plan(in).heads;
    for_tiles_of(in, head0, heads, group, [&](const Tile& all) {
        at::Tensor rows = at::empty({all.heads, all.rows, all.keys}, score_options(in));
        for (Tile t = all; t.head0 < all.head0 + all.heads; t.head0 += each) {
            t.heads = std::min(each, all.head0 + all.heads - t.head0);
            at::Tensor tile = rows.narrow(0, t.head0 - all.head0, t.heads);
            fill_scores(in, t, tile, factors);
            softmax_tile(in, t, tile, false);
        }
        work(all.head0, all.row0, rows.to(in.q.scalar_type()));
    });
}

at::Tensor sink_tile(const AttentionInput& in, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows) {
    const at::Tensor share = at::zeros({in.q.size(0), in.q.size(1)}, in.q.options());
    rows_of(in, head0, heads, row0, rows, true, share);
    return share.narrow(0, head0, heads).narrow(1, row0, rows);
}

at::Tensor score_tile(const AttentionInput& in, std::int64_t head0, std::int64_t heads, std::int64_t row0, std::int64_t rows) {
    return rows_of(in, head0, heads, row0, rows, false);
}

at::Tensor score_part(const AttentionInput& in, Hook hook, std::int64_t head0, std::int64_t heads, std::int64_t row0,
                      std::int64_t rows) {
    if (in.content <= 0)
        throw Error(ErrorFacts{.problem = "The scores of this model have no such part", .item = name_of({hook, Layer(0)})});
    AttentionInput part = in;
    const bool content = hook == Hook::content_scores;
    const std::int64_t first = content ? 0 : in.content, count = content ? in.content : in.q.size(2) - in.content;
    part.softcap = 0;  // a cap is of the sum
    part.q = in.q.narrow(2, first, count).contiguous();
    part.k = in.k.narrow(2, first, count).contiguous();
    return score_tile(part, head0, heads, row0, rows);
}

}  // namespace headlight::model
