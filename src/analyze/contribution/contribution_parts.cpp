// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/contribution/contribution_parts.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/weights_in_parts.h"
#include "model/arithmetic/kernels.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

constexpr double kLeast = 1e-5;

at::Tensor rows_of(const trace::Trace& trace, Hook hook, Layer layer, TokenRange at) {
    return plain(trace::tensor_rows(trace, HookPoint{hook, layer}, at.first, at.count));
}

/// Of vectors [d_model].
double weight_of(const float* whole, double whole_norm, float scale, const float* part, std::int64_t d_model) {
    return std::max(whole_norm - model::kernels::distance(whole, scale, part, d_model), kLeast);
}

double norm_of(const float* x, std::int64_t d_model) { return model::kernels::distance(x, 0.0F, x, d_model); }

/// What is added to at some tokens, and the sum: [token, d_model].
struct Sum {
    at::Tensor stream, whole;
};

at::Tensor behind_norm(const trace::Trace& trace, Hook normalized, Layer layer, TokenRange at, const trace::NormTensors& norm) {
    at::Tensor x = rows_of(trace, normalized, layer, at);
    if (norm.gain.defined()) x = x * plain(norm.gain);
    if (norm.bias.defined()) x = x + plain(norm.bias);
    return x.contiguous();
}

Sum around_attention(const trace::Trace& trace, Layer layer, TokenRange at) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream = c.residual_after_norm ? behind_norm(trace, Hook::ln1_normalized, layer, at,
                                                                  trace::layer_vectors(*trace.model(), layer).attention)
                                                    : rows_of(trace, Hook::resid_pre, layer, at);
    return {stream,
            c.post_norm ? stream + rows_of(trace, Hook::attn_out, layer, at) : rows_of(trace, Hook::resid_mid, layer, at)};
}

/// Around the attention to a source, in a decoder behind an encoder.
Sum around_cross(const trace::Trace& trace, Layer layer, TokenRange at) {
    const at::Tensor stream = rows_of(trace, Hook::resid_mid, layer, at);
    return {stream, trace.config().post_norm ? stream + rows_of(trace, Hook::cross_attn_out, layer, at)
                                             : rows_of(trace, Hook::resid_mid_cross, layer, at)};
}

Sum around_mlp(const trace::Trace& trace, Layer layer, TokenRange at) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream =
        c.residual_after_norm
            ? behind_norm(trace, Hook::ln2_normalized, layer, at, trace::layer_vectors(*trace.model(), layer).mlp)
            : rows_of(trace, has_cross_attention(c) ? Hook::resid_mid_cross : Hook::resid_mid, layer, at);
    return {stream,
            c.post_norm ? stream + rows_of(trace, Hook::mlp_out, layer, at) : rows_of(trace, Hook::resid_post, layer, at)};
}

/// A whole w read for many parts a p: |w| - |w - a p| = a <sign w, p> - 2 sum_k max(0, a sign(w_k) p_k - |w_k|). The first
/// term of all parts is one matrix product. The second only has the few k where the part is larger than the whole.
class Whole {
public:
    Whole(const float* w, std::int64_t d_model, float* signs) : w_(w), d_model_(d_model), norm_(norm_of(w, d_model)) {
        order_.resize(static_cast<std::size_t>(d_model));
        for (std::int64_t k = 0; k < d_model; ++k) {
            signs[k] = w[k] < 0 ? -1.0F : 1.0F;
            order_[static_cast<std::size_t>(k)] = {std::abs(w[k]), signs[k], static_cast<std::int32_t>(k)};
        }
        std::sort(order_.begin(), order_.end(),
                  [](const Entry& a, const Entry& b) { return a.size != b.size ? a.size < b.size : a.index < b.index; });
    }

    /// Of the part `scale` times `part`, of which no component is longer than `longest`, and <sign w, part>.
    double weight(float scale, const float* part, float longest, float product) const {
        const float reach = scale * longest;
        double beyond = 0;
        for (std::size_t m = 0; m < order_.size() && order_[m].size < reach; ++m) {
            if (m == kMany) return weight_of(w_, norm_, scale, part, d_model_);
            const Entry& entry = order_[m];
            const float more = scale * entry.sign * part[entry.index] - entry.size;
            beyond += more > 0 ? static_cast<double>(more) : 0.0;
        }
        return std::max(static_cast<double>(scale) * static_cast<double>(product) - 2 * beyond, kLeast);
    }

    /// Of the part itself.
    double weight(const float* part) const { return weight_of(w_, norm_, 1.0F, part, d_model_); }

private:
    struct Entry {
        float size, sign;
        std::int32_t index;
    };
    static constexpr std::size_t kMany = 128;  ///< then reading all of the part in order is as quick
    const float* w_;
    std::int64_t d_model_;
    double norm_;
    std::vector<Entry> order_;  ///< shortest first
};

Sum around(const trace::Trace& run, const trace::Trace& attention, Layer layer, TokenRange at) {
    return attention.across_texts() ? around_cross(run, layer, at) : around_attention(run, layer, at);
}

}  // namespace

std::vector<MlpShares> shares_behind_mlp(const trace::Trace& trace, Layer layer, TokenRange at) {
    const Sum sum = around_mlp(trace, layer, at);
    const at::Tensor out = rows_of(trace, Hook::mlp_out, layer, at);
    const std::int64_t d = trace.config().d_model;
    std::vector<MlpShares> all(static_cast<std::size_t>(at.count));
    at::parallel_for(0, at.count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const float* whole = sum.whole.data_ptr<float>() + i * d;
            const double norm = norm_of(whole, d);
            const double mlp = weight_of(whole, norm, 1.0F, out.data_ptr<float>() + i * d, d),
                         residual = weight_of(whole, norm, 1.0F, sum.stream.data_ptr<float>() + i * d, d);
            all[static_cast<std::size_t>(i)] = {mlp / (mlp + residual), residual / (mlp + residual)};
        }
    });
    return all;
}

WrittenValues::WrittenValues(const trace::Trace& run, const trace::Trace& trace, Layer layer)
    : run_(run), attention_(trace), layer_(layer) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor v = plain(trace::tensor(trace, {Hook::v, layer}));  // [token, kv_head, d_head]
    const trace::AttentionTensors attention = trace::attention_output(*trace.model(), layer);
    const at::Tensor w_o = plain(attention.w_o);
    written_ = at::empty({trace.keys(), c.n_heads, c.d_model}, v.options());
    for (std::int64_t h = 0; h < c.n_heads; ++h) {
        at::Tensor out = written_.select(1, h);
        out.copy_(at::mm(v.select(1, h / (c.n_heads / c.n_kv_heads)), w_o.select(0, h)));
    }
    inverse_ = at::ones({run.tokens()}, v.options());
    if (c.branch_norm) {  // what is added went through a norm, whose scale is taken as it was
        if (c.norm == model::Norm::layer_norm) written_ = written_ - written_.mean(-1, true);
        written_ = (written_ * plain(attention.branch.gain)).contiguous();
        inverse_ = plain(1.0 / trace::tensor(trace, {Hook::ln1_post_scale, layer}).to(at::kFloat).reshape({-1}));
    }
    const at::Tensor sizes = written_.abs();
    lengths_ = sizes.sum(-1).contiguous();
    longest_ = sizes.amax(-1).contiguous();
}

at::Tensor WrittenValues::patterns(std::int64_t first, std::int64_t count) const {
    std::vector<at::Tensor> rows;
    for (std::int64_t h = 0; h < attention_.config().n_heads; ++h)
        rows.push_back(plain(trace::pattern_rows(attention_, layer_, Head(h), first, count)));
    return at::stack(rows);
}

AttentionShares WrittenValues::shares(Position p) const {
    return std::move(shares({p.value}, patterns(p.value, 1), p.value).front());
}

std::vector<AttentionShares> WrittenValues::shares(const std::vector<std::int64_t>& tokens, const at::Tensor& stretch,
                                                   std::int64_t first) const {
    const model::ModelConfig& c = attention_.config();
    const std::int64_t d = c.d_model, heads = c.n_heads, count = std::ssize(tokens);
    const ReadableKeys readable(attention_, layer_);
    const Sum sum = around(run_, attention_, layer_, {tokens.front(), tokens.back() - tokens.front() + 1});
    const at::Tensor signs = at::empty({count, d}, at::kFloat);
    std::vector<AttentionShares> out(tokens.size());
    std::vector<std::optional<Whole>> wholes(tokens.size());
    std::vector<std::int64_t> keys(tokens.size());
    at::parallel_for(0, count, 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto each = static_cast<std::size_t>(i);
            const std::int64_t row = (tokens[each] - tokens.front()) * d;
            wholes[each].emplace(sum.whole.data_ptr<float>() + row, d, signs.data_ptr<float>() + i * d);
            keys[each] = readable(tokens[each]);
            out[each].from_heads = Eigen::MatrixXd::Zero(heads, attention_.keys());
            out[each].residual = wholes[each]->weight(sum.stream.data_ptr<float>() + row);
        }
    });
    const std::int64_t most_keys = *std::max_element(keys.begin(), keys.end());
    const at::Tensor products =  // [token, key * head]
        at::mm(signs, written_.view({-1, d}).narrow(0, 0, most_keys * heads).t()).contiguous();
    at::parallel_for(0, most_keys, 8, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t j = begin; j < end; ++j)
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t i = 0; i < count; ++i) {  // while the written vector is in the cache
                    const auto each = static_cast<std::size_t>(i);
                    if (j >= keys[each]) continue;
                    const std::int64_t token = tokens[each];
                    const float weight = stretch.data_ptr<float>()[(h * stretch.size(1) + token - first) * stretch.size(2) + j] *
                                         inverse_.data_ptr<float>()[token];
                    const std::int64_t at = j * heads + h;
                    // |w| - |w - p| is at most |p|
                    const bool little =
                        static_cast<double>(weight) * static_cast<double>(lengths_.data_ptr<float>()[at]) <= kLeast;
                    out[each].from_heads(h, j) =
                        little ? kLeast
                               : wholes[each]->weight(weight, written_.data_ptr<float>() + at * d, longest_.data_ptr<float>()[at],
                                                      products.data_ptr<float>()[i * most_keys * heads + at]);
                }
    });
    at::parallel_for(0, count, 4, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const double total = out[i].residual + out[i].from_heads.sum();
            out[i].residual /= total;
            out[i].from_heads /= total;
        }
    });
    return out;
}

}  // namespace headlight::analyze
