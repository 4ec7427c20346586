// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/text_stack.h"

#include "model/arithmetic/tiles.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::model {
namespace {

/// Rows that are scored at once: as many as a tile of the pass has.
constexpr std::int64_t kStackedRows = 64;

/// A text's keys or values, [head, key, d_head]: of its source, or its own rows behind those of the first text.
at::Tensor whole_of(const TextStack& stack, const StackedText& text, bool cross, const at::Tensor& x) {
    if (cross) {
        const std::int64_t keys = stack.sources.size(1);
        return x.narrow(1, text.source * keys, keys).contiguous();
    }
    const at::Tensor own = x.narrow(1, text.start, stack.rows_of(text));
    return text.first == 0 ? own.contiguous() : at::cat({x.narrow(1, 0, text.first), own}, 1);
}

void attend_text(const TextStack& stack, const StackedText& text, const AttentionInput& in, const at::Tensor& v,
                 const at::Tensor& order, at::Tensor& out) {
    const std::int64_t heads = in.q.size(0), keys = in.k.size(1), together = has_kernels(in.q) ? 1 : heads;
    at::Tensor z = at::empty({stack.tokens, heads, v.size(2)}, in.q.options());
    for (std::int64_t row = text.first; row < stack.tokens; row += kStackedRows)
        for (std::int64_t head = 0; head < heads; head += together) {
            const std::int64_t rows = std::min(kStackedRows, stack.tokens - row);
            const Tile t{head, together, row, rows, in.causal && !order.defined() ? std::min(keys, row + rows) : keys};
            at::Tensor tile = at::empty({together, rows, t.keys}, score_options(in));
            fill_scores(in, t, tile);
            softmax_tile(in, t, tile, false);
            tile = tile.to(in.q.scalar_type());
            if (order.defined() && stack.position >= row && stack.position < row + rows) {
                const at::Tensor weights = tile.select(1, stack.position - row);
                weights.copy_(weights.gather(1, order.narrow(0, head, together)));
            }
            mix_tile(t, tile, v, z);
        }
    out.narrow(0, text.start, stack.rows_of(text)).copy_(z.narrow(0, text.first, stack.rows_of(text)));
}

}  // namespace

std::int64_t TextStack::token_of(std::int64_t row) const {
    const auto after = std::ranges::upper_bound(texts, row, {}, &StackedText::start);
    return row - std::prev(after)->start + std::prev(after)->first;
}

at::Tensor attend_stacked(const TextStack& stack, HookPoint pattern, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const std::function<AttentionInput(const at::Tensor&, const at::Tensor&)>& input) {
    const bool cross = pattern.hook == Hook::cross_pattern;
    at::Tensor z = at::empty({q.size(1), q.size(0), v.size(2)}, q.options());
    const auto one = [&](std::int64_t index) {
        const StackedText& text = stack.texts[static_cast<std::size_t>(index)];
        at::Tensor queries = at::empty({q.size(0), stack.tokens, q.size(2)}, q.options());
        queries.narrow(1, text.first, stack.rows_of(text)).copy_(q.narrow(1, text.start, stack.rows_of(text)));
        const bool reordered = text.variant && text.variant->order.defined() && text.variant->pattern == pattern;
        attend_text(stack, text, input(queries, whole_of(stack, text, cross, k)), whole_of(stack, text, cross, v),
                    reordered ? text.variant->order.to(q.device()) : at::Tensor(), z);
    };
    const auto texts = static_cast<std::int64_t>(stack.texts.size());
    if (!has_kernels(q)) {
        for (std::int64_t i = 0; i < texts; ++i) one(i);
        return z;
    }
    at::parallel_for(0, texts, 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) one(i);
    });
    return z;
}

}  // namespace headlight::model
