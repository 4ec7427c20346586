// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/circuit/composition.h"

#include "analyze/circuit/circuit_weights.h"

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

/// One layer, every head; grams are small. float64 but for the two wide matrices, which keep the model's precision.
struct LayerCircuits {
    at::Tensor o;                       ///< [head, d_value, d_model]
    at::Tensor q, k, v;                 ///< [head, d_model, d_head] (v: d_value); k and v of the heads of keys and values
    at::Tensor gram_q, gram_k, gram_v;  ///< W^T W [head, d_head, d_head], all of query heads
    at::Tensor gram_o;                  ///< W W^T [head, d_head, d_head]
    at::Tensor norm_ov, norm_qk;        ///< Frobenius norms [head]
};

at::Tensor product_norms(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum({1, 2}).clamp_min(0).sqrt(); }

LayerCircuits circuits_of(const model::Model& model, Layer layer, bool fold) {
    const model::ModelConfig& c = model.config();
    const trace::AttentionTensors w = trace::attention_weights(model, layer);
    const auto reading = [&](const at::Tensor& all) {
        std::vector<at::Tensor> heads;
        for (std::int64_t h = 0; h < all.size(0); ++h) {
            const at::Tensor one = all.select(0, h).to(at::kCPU);
            const at::Tensor wide = one.scalar_type() == at::kBFloat16 ? one.to(at::kFloat) : one;
            heads.push_back(fold ? folded(model, w.norm, wide) : wide);
        }
        return at::stack(heads).contiguous();
    };
    LayerCircuits l;
    l.o = w.w_o.to(at::kCPU);
    if (l.o.scalar_type() == at::kBFloat16) l.o = l.o.to(at::kFloat);
    l.o = l.o.contiguous();
    l.q = reading(w.w_q);
    l.k = reading(w.w_k);
    l.v = reading(w.w_v);
    const auto gram = [&](const at::Tensor& m) {
        const at::Tensor wide = m.to(at::kDouble);
        return at::matmul(wide.transpose(1, 2), wide).repeat_interleave(c.n_heads / m.size(0), 0);
    };
    l.gram_q = gram(l.q);
    l.gram_k = gram(l.k);
    l.gram_v = gram(l.v);
    l.gram_o = gram(l.o.transpose(1, 2));
    l.norm_ov = product_norms(l.gram_v, l.gram_o);
    l.norm_qk = product_norms(l.gram_q, l.gram_k);
    return l;
}

/// |V1 (O1 R) S|_F for all pairs of heads, with gram_s = S S^T: [from head, to head]. Heads that share what they read with
/// share all but the last step: |..|^2 = <(O1 R)^T V1^T V1 (O1 R), S S^T>.
at::Tensor norms_through(const LayerCircuits& from, const at::Tensor& reads, const at::Tensor& gram_s) {
    const std::int64_t heads = reads.size(0), d = reads.size(2), written = from.o.size(1), all = gram_s.size(0);
    // [written, d] of every pair by one wide product.
    const at::Tensor wide = at::mm(from.o.reshape({-1, from.o.size(2)}), reads.permute({1, 0, 2}).reshape({reads.size(1), -1}));
    at::Tensor norms = at::empty({from.o.size(0), all}, at::kDouble);
    for (std::int64_t h = 0; h < from.o.size(0); ++h) {  // one earlier head at a time: [to head, written, d] beside it
        const at::Tensor m = wide.narrow(0, h * written, written).view({written, heads, d}).permute({1, 0, 2}).to(at::kDouble);
        const at::Tensor inner = at::matmul(m.transpose(1, 2), at::matmul(from.gram_v.select(0, h), m));
        const at::Tensor squares = (inner.unsqueeze(1) * gram_s.view({heads, all / heads, d, d})).sum({2, 3}).flatten();
        norms.select(0, h).copy_(squares.clamp_min(0).sqrt());
    }
    return norms;
}

}  // namespace

double CompositionScores::at(Composition kind, HeadId from, HeadId to) const {
    const std::int64_t row = (from.layer.value * n_heads + from.head.value) * n_layers * n_heads;
    return values[static_cast<std::size_t>(kind)][static_cast<std::size_t>(row + to.layer.value * n_heads + to.head.value)];
}

CompositionScores composition_scores(const model::Model& model, bool fold_norms, const CancelToken& cancel,
                                     const Progress& progress) {
    if (fold_norms) check_foldable(model);
    const model::ModelConfig& c = model.config();
    CompositionScores out{.n_layers = c.n_layers, .n_heads = c.n_heads, .values = {}};
    const std::int64_t all = c.n_layers * c.n_heads;
    for (auto& kind : out.values) kind.assign(static_cast<std::size_t>(all * all), 0.0);

    const std::int64_t pairs = c.n_layers * (c.n_layers - 1) / 2;
    std::int64_t done = 0;
    std::vector<LayerCircuits> before;
    for (std::int64_t later = 1; later < c.n_layers; ++later) {
        before.push_back(circuits_of(model, Layer(later - 1), fold_norms));
        before.back().q = before.back().k = before.back().v = at::Tensor();  // what it reads is in its grams
        const LayerCircuits to = circuits_of(model, Layer(later), fold_norms);
        for (std::int64_t earlier = 0; earlier < later; ++earlier) {
            cancel.throw_if_cancelled();
            if (progress) progress({"Composing", "pair of layers", done++, pairs});
            const LayerCircuits& from = before[static_cast<std::size_t>(earlier)];
            const std::array<at::Tensor, 3> norms = {norms_through(from, to.q, to.gram_k), norms_through(from, to.k, to.gram_q),
                                                     norms_through(from, to.v, to.gram_o)};
            const std::array<at::Tensor, 3> own = {to.norm_qk, to.norm_qk, to.norm_ov};
            for (std::size_t kind = 0; kind < 3; ++kind) {
                const at::Tensor sizes = from.norm_ov.unsqueeze(1) * own[kind].unsqueeze(0);
                const at::Tensor scores = at::where(sizes > 0, norms[kind] / sizes, at::zeros_like(sizes)).contiguous();
                const double* values = scores.data_ptr<double>();
                for (std::int64_t h = 0; h < c.n_heads; ++h)
                    std::copy_n(values + h * c.n_heads, c.n_heads,
                                out.values[kind].begin() + (earlier * c.n_heads + h) * all + later * c.n_heads);
            }
        }
    }
    return out;
}

const char* name_of(Composition kind) noexcept { return kind == Composition::q ? "Q" : kind == Composition::k ? "K" : "V"; }

std::vector<ComposedPair> composed_pairs(const CompositionScores& scores) {
    std::vector<ComposedPair> pairs;
    const std::int64_t heads = scores.n_heads, all = scores.n_layers * heads;
    const auto id = [&](std::int64_t i) { return HeadId{Layer(i / heads), Head(i % heads)}; };
    for (const Composition kind : {Composition::q, Composition::k, Composition::v})
        for (std::int64_t from = 0; from < all; ++from)
            for (std::int64_t to = (from / heads + 1) * heads; to < all; ++to)
                pairs.push_back({kind, id(from), id(to), scores.at(kind, id(from), id(to))});
    return pairs;
}

Table table_of(const std::vector<ComposedPair>& pairs) {
    Table table{{"kind", "from_layer", "from_head", "to_layer", "to_head", "score"}, {}};
    table.definitions = {{"score",
                          "|A B|_F / (|A|_F |B|_F), A = W_OV of the earlier head, B = W_QK (Q), W_QK^T (K) or "
                          "W_OV (V) of the later one; pairs that are not listed are 0"}};
    for (const ComposedPair& p : pairs)
        table.add(
            {std::string(name_of(p.kind)), p.from.layer.value, p.from.head.value, p.to.layer.value, p.to.head.value, p.score});
    return table;
}

}  // namespace headlight::analyze
