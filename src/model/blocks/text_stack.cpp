// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/text_stack.h"

#include "model/arithmetic/bfloat16_products.h"
#include "model/arithmetic/tiles.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace headlight::model {
namespace {

/// Rows that are scored at once: as many as a tile of the pass has.
constexpr std::int64_t kStackedRows = 64;
static_assert(kStackedRows <= bfloat16_products::kTileRows);

/// A text's keys or values, [head, key, d_head]: of its source, or its own rows among those of the text it is a variant of.
at::Tensor whole_of(const TextStack& stack, const StackedText& text, bool cross, const at::Tensor& x, const at::Tensor& kept) {
    if (cross) {
        const std::int64_t keys = stack.sources.size(1);
        return x.narrow(1, text.source * keys, keys).contiguous();
    }
    const at::Tensor own = x.narrow(1, text.start, text.rows());
    if (text.rows() == stack.tokens) return own.contiguous();
    const at::Tensor others = kept.defined() ? kept : x.narrow(1, 0, stack.tokens);
    return at::cat({others.narrow(1, 0, text.first), own, others.narrow(1, text.last, stack.tokens - text.last)}, 1);
}

std::vector<const RowEdit*> edits_of(const StackedText& text, HookPoint point) {
    std::vector<const RowEdit*> found;
    if (text.variant)
        for (const RowEdit& edit : text.variant->edits)
            if (edit.point == point && edit.first < text.last) found.push_back(&edit);
    return found;
}

/// One text's attention. Queries stand at their tokens, so that rows before the first and from the last on are not read.
struct TextAttention {
    const StackedText& text;
    const AttentionInput& in;
    const at::Tensor& v;
    at::Tensor& z;  ///< [token, head, d_head]
    std::int64_t heads = in.q.size(0), keys = in.k.size(1);
    std::int64_t together = has_kernels(in.q) ? 1 : heads;

    /// From several threads where one text is all there is.
    template <class Work>
    void for_tiles_of_rows(bool all_keys, const Work& work) const {
        const std::int64_t of_rows = (text.rows() + kStackedRows - 1) / kStackedRows, all = heads / together * of_rows;
        at::parallel_for(0, all, together == heads ? all : 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t row = text.first + i % of_rows * kStackedRows, head = i / of_rows * together,
                                   rows = std::min(kStackedRows, text.last - row);
                work(Tile{head, together, row, rows, in.causal && !all_keys ? std::min(keys, row + rows) : keys});
            }
        });
    }

    void attend() const {
        const TileFactors factors = tile_factors(in, v);
        for_tiles_of_rows(false, [&](const Tile& t) {
            at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
            fill_scores(in, t, tile, factors);
            softmax_tile(in, t, tile, false);
            mix_tile(t, tile.to(in.q.scalar_type()), v, factors, z);
        });
    }

    /// Edits see scores and patterns whole, [head, query, key] with the text's rows as queries, and may use any key.
    void attend_edited(HookPoint scores, HookPoint pattern, const std::vector<const RowEdit*>& of_scores,
                       const std::vector<const RowEdit*>& of_pattern) const {
        at::Tensor whole = at::empty({heads, text.rows(), keys}, score_options(in));
        const TileFactors factors = tile_factors(in, v);
        const auto part = [&](const Tile& t) { return whole.narrow(0, t.head0, t.heads).narrow(1, t.row0 - text.first, t.rows); };
        for_tiles_of_rows(true, [&](const Tile& t) {
            at::Tensor tile = at::empty({t.heads, t.rows, t.keys}, score_options(in));
            fill_scores(in, t, tile, factors);
            of_scores.empty() ? softmax_tile(in, t, tile, false) : mask_tile(in, t, tile);
            part(t).copy_(tile);
        });
        for (const RowEdit* edit : of_scores) whole = edited(*edit, scores, whole, text.first);
        if (!of_scores.empty()) {
            whole = whole.clone(at::MemoryFormat::Contiguous);
            for_tiles_of_rows(true, [&](const Tile& t) {
                at::Tensor tile = part(t).clone(at::MemoryFormat::Contiguous);
                softmax_tile(in, t, tile, true);
                part(t).copy_(tile);
            });
        }
        whole = whole.to(in.q.scalar_type());
        for (const RowEdit* edit : of_pattern) whole = edited(*edit, pattern, whole, text.first);
        for_tiles_of_rows(true, [&](const Tile& t) { mix_tile(t, part(t).contiguous(), v, factors, z); });
    }
};

}  // namespace

std::int64_t TextStack::token_of(std::int64_t row) const {
    const auto after = std::ranges::upper_bound(texts, row, {}, &StackedText::start);
    return row - std::prev(after)->start + std::prev(after)->first;
}

at::Tensor attend_stacked(const TextStack& stack, HookPoint pattern, const at::Tensor& q, const at::Tensor& k,
                          const at::Tensor& v, const std::function<AttentionInput(const at::Tensor&, const at::Tensor&)>& input) {
    const bool cross = pattern.hook == Hook::cross_pattern;
    const HookPoint scores{cross ? Hook::cross_scores : Hook::attn_scores, pattern.layer};
    const auto layer = static_cast<std::size_t>(pattern.layer.value);
    const bool kept = stack.kept && !cross;
    const at::Tensor kept_k = kept ? stack.kept->k[layer] : at::Tensor(), kept_v = kept ? stack.kept->v[layer] : at::Tensor();
    at::Tensor z = at::empty({q.size(1), q.size(0), v.size(2)}, q.options());
    const auto one = [&](std::int64_t index) {
        const StackedText& text = stack.texts[static_cast<std::size_t>(index)];
        at::Tensor queries = at::empty({q.size(0), stack.tokens, q.size(2)}, q.options());
        queries.narrow(1, text.first, text.rows()).copy_(q.narrow(1, text.start, text.rows()));
        const AttentionInput in = input(queries, whole_of(stack, text, cross, k, kept_k));
        const at::Tensor values = whole_of(stack, text, cross, v, kept_v);
        at::Tensor mixed = at::empty({stack.tokens, q.size(0), v.size(2)}, q.options());
        const TextAttention attention{text, in, values, mixed};
        const auto of_scores = edits_of(text, scores), of_pattern = edits_of(text, pattern);
        if (of_scores.empty() && of_pattern.empty())
            attention.attend();
        else
            attention.attend_edited(scores, pattern, of_scores, of_pattern);
        z.narrow(0, text.start, text.rows()).copy_(mixed.narrow(0, text.first, text.rows()));
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
