// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/trace/weights.h"
#include "headlight/base/error.h"
#include "headlight/intervention/compare/layers.h"

#include <cmath>
#include <utility>

namespace headlight::intervention {
namespace {

/// From |a|^2, |b|^2 and <a, b>.
void take_products(WeightDifference& out, double aa, double bb, double ab) {
    if (aa > 0) out.relative = std::sqrt(std::max(0.0, aa + bb - 2 * ab) / aa);
    if (aa > 0 && bb > 0) out.cosine = ab / std::sqrt(aa * bb);
}

double frobenius(const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) * b.to(at::kDouble)).sum().item<double>();
}

[[noreturn]] void fail_shape(const std::string& matrix, std::int64_t layer, const at::Tensor& a, const at::Tensor& b) {
    const auto text = [](const at::Tensor& t) {
        std::string out;
        for (const std::int64_t size : t.defined() ? t.sizes().vec() : std::vector<std::int64_t>{})
            out += (out.empty() ? "" : " x ") + std::to_string(size);
        return out.empty() ? std::string("none") : out;
    };
    throw Error({.problem = "The weights of two architectures cannot be compared",
                 .item = matrix + (layer < 0 ? "" : " of layer " + std::to_string(layer)),
                 .expected = text(a),
                 .found = text(b),
                 .hint = "Compare what the models do with a text instead"});
}

/// <W_a M_a^T, W_b M_b^T> = tr((W_a^T W_b)^T (M_a^T M_b)), without the d x d products.
double frobenius_of_products(const at::Tensor& left_a, const at::Tensor& right_a, const at::Tensor& left_b,
                             const at::Tensor& right_b) {
    const auto wide = [](const at::Tensor& t) { return t.to(at::kDouble); };
    return frobenius(wide(left_a).t().mm(wide(left_b)), wide(right_a).t().mm(wide(right_b)));
}

class WeightCollector {
public:
    void matrix(const char* name, std::int64_t layer, const at::Tensor& a, const at::Tensor& b) {
        if (!a.defined() && !b.defined()) return;
        if (a.defined() != b.defined() || a.sizes() != b.sizes()) fail_shape(name, layer, a, b);
        WeightDifference& out = found.emplace_back();
        out.matrix = name;
        out.layer = layer;
        take_products(out, frobenius(a, a), frobenius(b, b), frobenius(a, b));
    }
    /// left [head, d_model, r], right [kv head, d_model, r]
    void product(const char* name, std::int64_t layer, const at::Tensor& left_a, const at::Tensor& right_a,
                 const at::Tensor& left_b, const at::Tensor& right_b) {
        for (std::int64_t h = 0; h < left_a.size(0); ++h) {
            const std::int64_t group = h / (left_a.size(0) / right_a.size(0));
            const at::Tensor la = left_a[h], ra = right_a[group], lb = left_b[h], rb = right_b[group];
            WeightDifference& out = found.emplace_back();
            out.matrix = name;
            out.layer = layer;
            out.head = h;
            take_products(out, frobenius_of_products(la, ra, la, ra), frobenius_of_products(lb, rb, lb, rb),
                          frobenius_of_products(la, ra, lb, rb));
        }
    }
    std::vector<WeightDifference> found;
};

void compare_layer(const model::Model& a, const model::Model& b, std::int64_t l, WeightCollector& out) {
    const trace::AttentionTensors of_a = trace::attention_weights(a, Layer(l)), of_b = trace::attention_weights(b, Layer(l));
    out.matrix("W_Q", l, of_a.w_q, of_b.w_q);
    out.matrix("W_K", l, of_a.w_k, of_b.w_k);
    out.matrix("W_V", l, of_a.w_v, of_b.w_v);
    out.matrix("W_O", l, of_a.w_o, of_b.w_o);
    out.product("QK", l, of_a.w_q, of_a.w_k, of_b.w_q, of_b.w_k);
    // W_O first: it has a matrix for each head, W_V one for each group.
    out.product("OV", l, of_a.w_o.transpose(1, 2), of_a.w_v, of_b.w_o.transpose(1, 2), of_b.w_v);
    const trace::MlpTensors mlp_a = trace::mlp_weights(a, Layer(l)), mlp_b = trace::mlp_weights(b, Layer(l));
    out.matrix("W_in", l, mlp_a.w_in, mlp_b.w_in);
    out.matrix("W_up", l, mlp_a.w_up, mlp_b.w_up);
    out.matrix("W_out", l, mlp_a.w_out, mlp_b.w_out);
}

}  // namespace

std::vector<WeightDifference> weight_differences(const model::Model& a, const model::Model& b, const CancelToken& cancel,
                                                 const Progress& progress) {
    const model::ModelConfig &ca = a.config(), &cb = b.config();
    if (ca.family != cb.family || ca.n_layers != cb.n_layers)
        throw Error({.problem = "The weights of two architectures cannot be compared",
                     .expected = ca.family + ", " + std::to_string(ca.n_layers) + " layers",
                     .found = cb.family + ", " + std::to_string(cb.n_layers) + " layers",
                     .hint = "Compare what the models do with a text instead"});
    WeightCollector out;
    const bool pictures = model::reads_pictures(ca);
    if (!pictures) out.matrix("W_E", -1, trace::embedding(a), trace::embedding(b));
    for (std::int64_t l = 0; l < ca.n_layers; ++l) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Comparing", "layer", l, ca.n_layers});
        compare_layer(a, b, l, out);
    }
    if (ca.has_unembedding && cb.has_unembedding) out.matrix("W_U", -1, trace::unembed(a), trace::unembed(b));
    return std::move(out.found);
}

analyze::Table table_of(const std::vector<WeightDifference>& differences) {
    analyze::Table table{{"matrix", "layer", "head", "relative_l2", "cosine"}, {}};
    table.definitions = {{"matrix", "QK is W_Q W_K^T of a head, OV its W_V W_O; the others are a layer's whole matrices"},
                         {"relative_l2", "|W_B - W_A| / |W_A|, Frobenius norms"},
                         {"cosine", "<W_A, W_B> / (|W_A| |W_B|)"}};
    for (const WeightDifference& each : differences)
        table.add({each.matrix, analyze::index_cell(each.layer), analyze::index_cell(each.head), each.relative, each.cosine});
    return table;
}

}  // namespace headlight::intervention
