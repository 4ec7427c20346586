// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/value_mix.h"

#include "analyze/contribution/mix_rows.h"
#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::analyze {
namespace {

using model::Hook;

void check_scope(const trace::Trace& trace, Layer layer, MixScope scope) {
    check_head(trace, {layer, Head(0)});
    if (scope == MixScope::with_norm && !trace.config().post_norm)
        throw Error({.problem = "This model has no norm behind its attention",
                     .item = trace.config().name,
                     .hint = "Choose the map with the residual stream"});
}

/// The part of the layer's norm that is the same for all tokens: centring and gain. [..., d_model]
at::Tensor shaped(const trace::Trace& trace, Layer layer, MixScope scope, at::Tensor x) {
    if (scope != MixScope::with_norm) return x;
    if (trace.config().norm == model::Norm::layer_norm) x = x - x.mean(-1, true);
    const at::Tensor gain = trace::layer_vectors(*trace.model(), layer).attention.gain;
    return gain.defined() ? x * plain(gain) : x;
}

/// One over the norm's scale at each token; 1 without it. [token]
at::Tensor inverse_scale(const trace::Trace& trace, Layer layer, MixScope scope) {
    if (scope != MixScope::with_norm) return at::ones({trace.tokens()}, at::kFloat);
    return plain(1.0 / trace::tensor(trace, {Hook::ln1_scale, layer}).to(at::kFloat).reshape({-1}));
}

/// What is added to the stream is the attention's output behind a norm of its own.
bool has_branch_norm(const trace::Trace& trace, MixScope scope) {
    return trace.config().branch_norm && scope != MixScope::attention;
}

/// That norm's part that is the same for all tokens.
at::Tensor branch_shaped(const trace::Trace& trace, Layer layer, MixScope scope, at::Tensor x) {
    if (!has_branch_norm(trace, scope)) return x;
    if (trace.config().norm == model::Norm::layer_norm) x = x - x.mean(-1, true);
    return x * plain(trace::layer_vectors(*trace.model(), layer).attention_branch.gain);
}

/// And its scale: what the attention's part of each token is multiplied with. [token]
at::Tensor branch_inverse(const trace::Trace& trace, Layer layer, MixScope scope) {
    if (!has_branch_norm(trace, scope)) return at::ones({trace.tokens()}, at::kFloat);
    return plain(1.0 / trace::tensor(trace, {Hook::ln1_post_scale, layer}).to(at::kFloat).reshape({-1}));
}

/// f_h(x_j) of tokens [first, first + count): [token, head, d_model].
at::Tensor written(const trace::Trace& trace, Layer layer, MixScope scope, std::int64_t first, std::int64_t count) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor v = plain(trace::tensor_rows(trace, {Hook::v, layer}, first, count));
    const at::Tensor w_o = plain(trace::attention_output(*trace.model(), layer).w_o);
    std::vector<at::Tensor> heads;
    for (std::int64_t h = 0; h < c.n_heads; ++h)
        heads.push_back(at::mm(v.select(1, h / (c.n_heads / c.n_kv_heads)), w_o.select(0, h)));
    return shaped(trace, layer, scope, branch_shaped(trace, layer, scope, at::stack(heads, 1)));
}

/// What the attention's output is added to.
at::Tensor stream(const trace::Trace& trace, Layer layer) {
    const model::ModelConfig& c = trace.config();
    if (!c.residual_after_norm) return plain(trace::tensor(trace, {Hook::resid_pre, layer}));
    const trace::NormTensors norm = trace::layer_vectors(*trace.model(), layer).attention;
    at::Tensor x = plain(trace::tensor(trace, {Hook::ln1_normalized, layer}));
    if (norm.gain.defined()) x = x * plain(norm.gain);
    return norm.bias.defined() ? x + plain(norm.bias) : x;
}

at::Tensor pattern_of(const trace::Trace& trace, HeadId id) {
    return plain(trace::pattern_rows(trace, id.layer, id.head, 0, trace.tokens()));
}

}  // namespace

Matrix head_value_mix(const trace::Trace& trace, HeadId id) {
    check_head(trace, id);
    const at::NoGradGuard no_grad;
    return to_matrix(pattern_of(trace, id) * output_norms(trace, id));
}

Matrix value_mix(const trace::Trace& trace, Layer layer, MixScope scope, const CancelToken& cancel) {
    return value_mix_rows(trace, layer, scope, Position(0), trace.tokens(), cancel);
}

/// |sum_h a_h f_h|^2 = sum_{h,g} a_h a_g <f_h, f_g>: the products of a source's heads with each other (and with its own
/// stream) are enough, so that nothing of width d_model stands for a pair.
class MixRows::Products {
public:
    Products(const trace::Trace& trace, Layer layer, MixScope scope, std::int64_t sources, const CancelToken& cancel)
        : heads_(trace.config().n_heads) {
        const at::Tensor own = scope == MixScope::attention ? at::Tensor() : shaped(trace, layer, scope, stream(trace, layer));
        constexpr std::int64_t block = 64;
        std::vector<at::Tensor> pairs, owns;
        for (std::int64_t first = 0; first < sources; first += block) {
            cancel.throw_if_cancelled();
            const std::int64_t count = std::min(block, sources - first);
            const at::Tensor f = written(trace, layer, scope, first, count).to(at::kDouble);  // [source, head, d_model]
            pairs.push_back(at::bmm(f, f.transpose(1, 2)));
            if (!own.defined()) continue;
            const at::Tensor x = own.narrow(0, first, count).to(at::kDouble).unsqueeze(2);  // [source, d_model, 1]
            owns.push_back(at::cat({at::bmm(f, x).squeeze(2), x.square().sum(1)}, 1));
        }
        pairs_ = at::cat(pairs).contiguous();
        if (own.defined()) own_ = at::cat(owns).contiguous();
    }

    /// With the weights of a source's heads, and with the stream when the source is the token itself.
    double squared(const double* w, std::int64_t source, bool itself) const {
        const double* g = pairs_.data_ptr<double>() + source * heads_ * heads_;
        double all = 0;
        for (std::int64_t h = 0; h < heads_; ++h) {
            if (w[h] == 0) continue;
            double part = 0;
            for (std::int64_t k = 0; k < heads_; ++k) part += w[k] * g[h * heads_ + k];
            all += w[h] * part;
        }
        if (!itself || !own_.defined()) return all;
        const double* x = own_.data_ptr<double>() + source * (heads_ + 1);
        for (std::int64_t h = 0; h < heads_; ++h) all += 2 * w[h] * x[h];
        return all + x[heads_];
    }

private:
    std::int64_t heads_;
    at::Tensor pairs_;  ///< [source, head, head]
    at::Tensor own_;    ///< [source, head + 1]: products with the stream, then its square
};

struct MixRows::State {
    const trace::Trace& trace;
    Layer layer;
    ReadableKeys readable;
    Products products;
    at::Tensor inverse, branch;
};

MixRows::MixRows(const trace::Trace& trace, Layer layer, MixScope scope, std::int64_t sources, const CancelToken& cancel) {
    check_scope(trace, layer, scope);
    require_own_text(trace, "What a layer makes of its stream");
    const at::NoGradGuard no_grad;
    state_ = std::make_unique<const State>(State{trace, layer, ReadableKeys(trace, layer),
                                                 Products(trace, layer, scope, sources, cancel),
                                                 inverse_scale(trace, layer, scope), branch_inverse(trace, layer, scope)});
}

MixRows::~MixRows() = default;

Matrix MixRows::rows(std::int64_t from, std::int64_t wanted, const CancelToken& cancel) const {
    const auto& [trace, layer, readable, products, inverse, branch] = *state_;
    const at::NoGradGuard no_grad;
    const std::int64_t tokens = trace.tokens(), heads = trace.config().n_heads, end = from + wanted;
    Matrix map = Matrix::Zero(wanted, tokens);
    constexpr std::int64_t block = 64;
    for (std::int64_t first = from; first < end; first += block) {
        cancel.throw_if_cancelled();
        const std::int64_t count = std::min(block, end - first);
        std::vector<at::Tensor> rows;
        for (std::int64_t h = 0; h < heads; ++h) rows.push_back(plain(trace::pattern_rows(trace, layer, Head(h), first, count)));
        const at::Tensor a = at::stack(rows, 2).contiguous();  // [row, source, head]
        const float *weights_of_all = a.data_ptr<float>(), *of_branch = branch.data_ptr<float>(),
                    *of_norm = inverse.data_ptr<float>();
        const auto fill = [&, &its_products = products, &its_readable = readable](std::int64_t begin, std::int64_t last) {
            std::vector<double> w(static_cast<std::size_t>(heads));
            for (std::int64_t r = begin; r < last; ++r) {
                const std::int64_t i = first + r, keys = its_readable(i);
                for (std::int64_t j = 0; j < keys; ++j) {
                    const float* weights = weights_of_all + (r * tokens + j) * heads;
                    for (std::int64_t h = 0; h < heads; ++h)
                        w[static_cast<std::size_t>(h)] = static_cast<double>(weights[h] * of_branch[i]);
                    const double length = std::sqrt(std::max(0.0, its_products.squared(w.data(), j, i == j)));
                    map(i - from, j) = static_cast<float>(length * static_cast<double>(of_norm[i]));
                }
            }
        };
        at::parallel_for(0, count, 4, fill);
    }
    return map;
}

bool of_whole_layer(Weighting weighting) noexcept {
    return weighting == Weighting::layer_mix || weighting == Weighting::layer_mix_residual ||
           weighting == Weighting::layer_mix_norm;
}

Matrix value_mix_rows(const trace::Trace& trace, Layer layer, MixScope scope, Position from, std::int64_t wanted,
                      const CancelToken& cancel) {
    check_scope(trace, layer, scope);
    if (wanted < 1) return Matrix(0, trace.tokens());
    check_position(trace, from, "row");
    check_position(trace, Position(from.value + wanted - 1), "row");
    const std::int64_t sources = ReadableKeys(trace, layer)(from.value + wanted - 1);
    return MixRows(trace, layer, scope, sources, cancel).rows(from.value, wanted, cancel);
}

Vector mixing_ratio(const trace::Trace& trace, Layer layer, MixScope scope) {
    check_scope(trace, layer, scope);
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = trace.config();
    const std::int64_t tokens = trace.tokens();
    const at::Tensor all = plain(trace::tensor(trace, {Hook::result, layer})).sum(1);  // [token, d_model], without b_O
    at::Tensor own = at::zeros_like(all);
    const at::Tensor f = written(trace, layer, MixScope::attention, 0, tokens);
    for (std::int64_t h = 0; h < c.n_heads; ++h) {
        std::vector<float> diagonal(static_cast<std::size_t>(tokens));
        for_each_pattern_row(trace, {layer, Head(h)}, 0, tokens,
                             [&](std::int64_t i, const float* row) { diagonal[static_cast<std::size_t>(i)] = row[i]; });
        const at::Tensor weights = at::from_blob(diagonal.data(), {tokens, 1}, at::kFloat);
        own = own + f.select(1, h) * weights;
    }
    const at::Tensor branch = branch_inverse(trace, layer, scope).unsqueeze(1);
    const auto added = [&](const at::Tensor& x) { return branch_shaped(trace, layer, scope, x) * branch; };
    const at::Tensor mixed = shaped(trace, layer, scope, added(all - own));
    at::Tensor kept = added(own);
    if (scope != MixScope::attention) kept = kept + stream(trace, layer);
    kept = shaped(trace, layer, scope, kept);
    const at::Tensor from_others = mixed.norm(2, -1), of_itself = kept.norm(2, -1);  // the scale is the same in both
    Vector ratio = to_vector(from_others / (from_others + of_itself));
    const std::int64_t alone = trace.config().causal ? 1 : tokens == 1 ? 1 : 0;
    ratio.head(alone).setConstant(std::numeric_limits<float>::quiet_NaN());
    return ratio;
}

namespace {

struct MixColumn {
    MixScope scope;
    const char *ratio, *ratio_is, *length, *length_is;
};

/// The scopes that the model has.
std::vector<MixColumn> mix_columns(const model::ModelConfig& config) {
    std::vector<MixColumn> columns{
        {MixScope::attention, "ratio", "heads alone (Kobayashi 2020)", "length", "|sum over heads of a f_h(x)|"},
        {MixScope::attention_residual, "ratio_residual", "heads and stream (Kobayashi 2021)", "length_residual",
         "the same with the token's own stream where it attends to itself"}};
    if (config.post_norm)
        columns.push_back({MixScope::with_norm, "ratio_norm", "heads, stream and norm (Kobayashi 2021)", "length_norm",
                           "the same after the layer's norm, at its scale in the run"});
    return columns;
}

}  // namespace

Table mixing_table(const trace::Trace& trace, const CancelToken& cancel, const Progress& progress) {
    const std::vector<MixColumn> columns = mix_columns(trace.config());
    Table table{{"layer", "position", "token"}, {}};
    for (const MixColumn& column : columns) {
        table.columns.emplace_back(column.ratio);
        table.definitions.emplace_back(column.ratio,
                                       std::string("length of what other tokens give over that plus the length of what is kept "
                                                   "of the token itself; ") +
                                           column.ratio_is);
    }
    const std::int64_t layers = trace.config().n_layers;
    for (std::int64_t l = 0; l < layers; ++l) {
        cancel.throw_if_cancelled();
        if (progress) progress({"Mixing ratios", "layer", l, layers});
        std::vector<Vector> ratios;
        for (const MixColumn& column : columns) ratios.push_back(mixing_ratio(trace, Layer(l), column.scope));
        for (std::int64_t p = 0; p < trace.tokens(); ++p) {
            std::vector<Table::Cell> row{l, p, token_name(trace.labels(), p)};
            for (const Vector& ratio : ratios) row.emplace_back(static_cast<double>(ratio[p]));
            table.add(std::move(row));
        }
    }
    return table;
}

Table mix_table(const trace::Trace& trace, Layer layer, std::optional<Head> head, bool arrays, const CancelToken& cancel) {
    Table table{{"query", "query_token", "key", "key_token"}, {}};
    std::vector<std::pair<std::string, Matrix>> maps;
    if (head) {
        maps.emplace_back("attention", pattern(trace, {layer, *head}, {}));
        maps.emplace_back("head_length", head_value_mix(trace, {layer, *head}));
        table.definitions.emplace_back("head_length", "|a f_h(x)| of the head, f_h(x) = v W_O^h (Kobayashi 2020)");
    }
    for (const MixColumn& column : mix_columns(trace.config())) {
        maps.emplace_back(column.length, value_mix(trace, layer, column.scope, cancel));
        table.definitions.emplace_back(column.length, column.length_is);
    }
    if (arrays) {
        table.columns.clear();
        for (const auto& [name, map] : maps) table.arrays.push_back(named_array(name, map));
        return table;
    }
    const bool causal = trace.config().causal;
    const std::int64_t n = trace.tokens();
    check_rows(causal ? n * (n + 1) / 2 : n * n, n);
    for (const auto& each : maps) table.columns.push_back(each.first);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j) {
            std::vector<Table::Cell> row{i, token_name(trace.labels(), i), j, token_name(trace.labels(), j)};
            for (const auto& each : maps) row.emplace_back(static_cast<double>(each.second(i, j)));
            table.add(std::move(row));
        }
    return table;
}

}  // namespace headlight::analyze
