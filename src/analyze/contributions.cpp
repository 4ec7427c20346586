// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contributions.h"

#include "analyze/head_reader.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights.h"
#include "model/kernels.h"

#include <ATen/core/grad_mode.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

constexpr double kLeast = 1e-5;
/// Tokens whose patterns are held at a time.
constexpr std::int64_t kStretch = 128;

at::Tensor plain(const at::Tensor& t) {
    return t.to(at::kCPU, at::kFloat).contiguous();
}

/// Tokens [first, first + count).
struct Tokens {
    std::int64_t first = 0, count = 1;
};

at::Tensor rows_of(const trace::Trace& trace, Hook hook, Layer layer, Tokens at) {
    return plain(trace::tensor_rows(trace, HookPoint{hook, layer}, at.first, at.count));
}

/// Of vectors [d_model].
double weight_of(const float* whole, double whole_norm, float scale, const float* part, std::int64_t d_model) {
    return std::max(whole_norm - model::kernels::distance(whole, scale, part, d_model), kLeast);
}

double norm_of(const float* x, std::int64_t d_model) {
    return model::kernels::distance(x, 0.0F, x, d_model);
}

/// What is added to at some tokens, and the sum: [token, d_model].
struct Sum {
    at::Tensor stream, whole;
};

at::Tensor behind_norm(const trace::Trace& trace, Hook normalized, Layer layer, Tokens at, const trace::NormTensors& norm) {
    at::Tensor x = rows_of(trace, normalized, layer, at);
    if (norm.gain.defined()) x = x * plain(norm.gain);
    if (norm.bias.defined()) x = x + plain(norm.bias);
    return x.contiguous();
}

Sum around_attention(const trace::Trace& trace, Layer layer, Tokens at) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream =
        c.residual_after_norm
            ? behind_norm(trace, Hook::ln1_normalized, layer, at, trace::attention_output(*trace.model(), layer).norm)
            : rows_of(trace, Hook::resid_pre, layer, at);
    return {stream,
            c.post_norm ? stream + rows_of(trace, Hook::attn_out, layer, at) : rows_of(trace, Hook::resid_mid, layer, at)};
}

Sum around_mlp(const trace::Trace& trace, Layer layer, Tokens at) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream =
        c.residual_after_norm
            ? behind_norm(trace, Hook::ln2_normalized, layer, at, trace::mlp_weights(*trace.model(), layer).norm)
            : rows_of(trace, Hook::resid_mid, layer, at);
    return {stream,
            c.post_norm ? stream + rows_of(trace, Hook::mlp_out, layer, at) : rows_of(trace, Hook::resid_post, layer, at)};
}

/// Shares of some tokens behind the MLP, one after the other.
std::vector<MlpShares> shares_behind_mlp(const trace::Trace& trace, Layer layer, Tokens at) {
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
        std::sort(order_.begin(), order_.end(), [](const Entry& a, const Entry& b) {
            return a.size != b.size ? a.size < b.size : a.index < b.index;
        });
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

/// One layer's values written out, v_j W_O^h, made once for all tokens that ask: [token, head, d_model].
class Layered {
public:
    Layered(const trace::Trace& trace, Layer layer) : trace_(trace), layer_(layer) {
        const model::ModelConfig& c = trace.config();
        const at::Tensor v = plain(trace::tensor(trace, {Hook::v, layer}));  // [token, kv_head, d_head]
        const trace::AttentionTensors attention = trace::attention_output(*trace.model(), layer);
        const at::Tensor w_o = plain(attention.w_o);
        written_ = at::empty({trace.tokens(), c.n_heads, c.d_model}, v.options());
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            at::Tensor out = written_.select(1, h);
            out.copy_(at::mm(v.select(1, h / (c.n_heads / c.n_kv_heads)), w_o.select(0, h)));
        }
        inverse_ = at::ones({trace.tokens()}, v.options());
        if (c.branch_norm) {  // what is added went through a norm, whose scale is taken as it was
            if (c.norm == model::Norm::layer_norm) written_ = written_ - written_.mean(-1, true);
            written_ = (written_ * plain(attention.branch.gain)).contiguous();
            inverse_ = plain(1.0 / trace::tensor(trace, {Hook::ln1_post_scale, layer}).to(at::kFloat).reshape({-1}));
        }
        const at::Tensor sizes = written_.abs();
        lengths_ = sizes.sum(-1).contiguous();
        longest_ = sizes.amax(-1).contiguous();
    }

    /// Rows of every head's pattern for a stretch of tokens: [head, count, key].
    at::Tensor patterns(std::int64_t first, std::int64_t count) const {
        std::vector<at::Tensor> rows;
        for (std::int64_t h = 0; h < trace_.config().n_heads; ++h)
            rows.push_back(plain(trace::pattern_rows(trace_, layer_, Head(h), first, count)));
        return at::stack(rows);
    }

    AttentionShares shares(Position p) const {
        return std::move(shares({p.value}, patterns(p.value, 1), p.value).front());
    }

    /// Of up to kStretch tokens at once, in order; with the patterns of a stretch of tokens that begins at `first`.
    std::vector<AttentionShares> shares(const std::vector<std::int64_t>& tokens, const at::Tensor& stretch,
                                        std::int64_t first) const {
        const model::ModelConfig& c = trace_.config();
        const std::int64_t d = c.d_model, heads = c.n_heads, count = std::ssize(tokens);
        const ReadableKeys readable(trace_, layer_);
        const Sum sum = around_attention(trace_, layer_, {tokens.front(), tokens.back() - tokens.front() + 1});
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
                out[each].from_heads = Eigen::MatrixXd::Zero(heads, trace_.tokens());
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
                        const bool little = static_cast<double>(weight) * static_cast<double>(lengths_.data_ptr<float>()[at]) <= kLeast;
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

private:
    const trace::Trace& trace_;
    Layer layer_;
    at::Tensor written_;  ///< [token, head, d_model]
    at::Tensor inverse_;  ///< [token] one over the scale of the norm behind the attention; 1 without
    at::Tensor lengths_, longest_;  ///< [token, head], sum and largest of absolute values
};

void check_layer(const trace::Trace& trace, Layer layer) {
    check_head(trace, {layer, Head(0)});
}

/// From the target downwards.
class Descent {
public:
    Descent(const trace::Trace& trace, const ContributionOptions& o, ContributionGraph& graph)
        : trace_(trace), o_(o), graph_(graph) {}

    void run(const CancelToken& cancel, const Progress& progress) {
        const std::int64_t layers = graph_.layers;
        std::vector<bool> wanted(static_cast<std::size_t>(graph_.tokens));
        wanted[static_cast<std::size_t>(graph_.target.value)] = true;
        for (std::int64_t l = layers - 1; l >= o_.from_layer; --l) {
            if (progress) progress({"Following contributions", "layer", layers - 1 - l, layers});
            cancel.throw_if_cancelled();
            wanted = layer(Layer(l), wanted, cancel);
        }
        if (progress) progress({"Following contributions", "layer", layers, layers});
    }

private:
    using Kind = ContributionEdge::Kind;

    std::vector<bool> layer(Layer l, const std::vector<bool>& wanted, const CancelToken& cancel) {
        const std::vector<std::int64_t> behind_attention = behind_mlp(l, wanted);
        std::vector<bool> below(wanted.size());
        if (behind_attention.empty()) return below;
        const Layered values(trace_, l);
        for (auto from = behind_attention.begin(); from != behind_attention.end();) {
            cancel.throw_if_cancelled();
            const std::int64_t first = *from;
            const auto to = std::lower_bound(from, behind_attention.end(), first + kStretch);
            const std::vector<std::int64_t> tokens(from, to);
            const std::vector<AttentionShares> shares =
                values.shares(tokens, values.patterns(first, tokens.back() - first + 1), first);
            std::vector<std::vector<ContributionEdge>> edges(tokens.size());
            at::parallel_for(0, std::ssize(tokens), 1, [&](std::int64_t begin, std::int64_t end) {
                for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                    edges[i] = attention(l, tokens[i], shares[i]);
            });
            for (std::vector<ContributionEdge>& each : edges)
                for (ContributionEdge& edge : each) {
                    below[static_cast<std::size_t>(edge.from)] = true;
                    graph_.edges.push_back(std::move(edge));
                }
            from = to;
        }
        return below;
    }

    bool kept(double weight) const { return weight > o_.threshold; }

    /// Tokens whose state behind attention is used.
    std::vector<std::int64_t> behind_mlp(Layer l, const std::vector<bool>& wanted) {
        const auto first = std::find(wanted.begin(), wanted.end(), true) - wanted.begin();
        std::vector<std::int64_t> used;
        if (first == std::ssize(wanted)) return used;
        const auto last = wanted.rend() - std::find(wanted.rbegin(), wanted.rend(), true);
        const std::vector<MlpShares> shares = shares_behind_mlp(trace_, l, {first, last - first});
        for (std::int64_t p = first; p < last; ++p) {
            if (!wanted[static_cast<std::size_t>(p)]) continue;
            const MlpShares& s = shares[static_cast<std::size_t>(p - first)];
            const bool through = kept(s.mlp), past = kept(s.residual);
            const double rest = (through ? s.mlp : 0) + (past ? s.residual : 0);
            const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
            if (through) graph_.edges.push_back({Kind::mlp, l.value, p, p, s.mlp * by, {}});
            if (past) graph_.edges.push_back({Kind::mlp_residual, l.value, p, p, s.residual * by, {}});
            if (through || past) used.push_back(p);
        }
        return used;
    }

    /// Edges to a token's state behind attention.
    std::vector<ContributionEdge> attention(Layer l, std::int64_t p, const AttentionShares& s) const {
        std::vector<ContributionEdge> edges;
        double rest = 0;
        if (kept(s.residual)) {
            rest = s.residual;
            edges.push_back({Kind::residual, l.value, p, p, s.residual, {}});
        }
        std::vector<std::pair<std::int64_t, double>> heads;
        for (Eigen::Index j = 0; j < s.from_heads.cols(); ++j) {
            heads.clear();
            for (Eigen::Index h = 0; h < s.from_heads.rows(); ++h)
                if (kept(s.from_heads(h, j))) heads.emplace_back(h, s.from_heads(h, j));
            if (heads.empty()) continue;
            std::sort(heads.begin(), heads.end(), [](const auto& a, const auto& b) {
                return a.second != b.second ? a.second > b.second : a.first < b.first;
            });
            edges.push_back({Kind::attention, l.value, j, p, 0, heads});
            ContributionEdge& edge = edges.back();
            for (const auto& head : heads) edge.weight += head.second;
            rest += edge.weight;
        }
        const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
        for (ContributionEdge& edge : edges) {
            edge.weight *= by;
            for (auto& head : edge.heads) head.second *= by;
        }
        return edges;
    }

    const trace::Trace& trace_;
    const ContributionOptions& o_;
    ContributionGraph& graph_;
};

}  // namespace

const char* name_of(ContributionEdge::Kind kind) noexcept {
    switch (kind) {
        case ContributionEdge::Kind::attention: return "attention";
        case ContributionEdge::Kind::residual: return "residual";
        case ContributionEdge::Kind::mlp: return "mlp";
        case ContributionEdge::Kind::mlp_residual: break;
    }
    return "mlp_residual";
}

AttentionShares attention_shares(const trace::Trace& trace, Layer layer, Position p) {
    require_whole_model(trace, "What a layer adds, by its parts,");
    check_layer(trace, layer);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    return Layered(trace, layer).shares(p);
}

MlpShares mlp_shares(const trace::Trace& trace, Layer layer, Position p) {
    require_whole_model(trace, "What a layer adds, by its parts,");
    check_layer(trace, layer);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    return shares_behind_mlp(trace, layer, {p.value, 1}).front();
}

ContributionGraph contribution_graph(const trace::Trace& trace, Position p, const ContributionOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    require_whole_model(trace, "The graph of contributions");
    check_position(trace, p, "position");
    if (!(options.threshold >= 0 && options.threshold <= 1))
        throw Error({.problem = "The threshold is a share", .expected = "0 to 1", .found = std::to_string(options.threshold)});
    check_layer(trace, Layer(options.from_layer));
    if (has_convolution(trace.config(), options.from_layer))
        throw Error({.problem = "The graph of contributions has no edges for the convolution beside layer 0, which hands on what "
                                "neighbouring tokens were",
                     .item = trace.config().name,
                     .expected = "a first layer of 1 or more",
                     .found = "0",
                     .hint = "Begin the graph at layer 1"});
    const at::NoGradGuard no_grad;
    ContributionGraph graph{.layers = trace.config().n_layers, .tokens = trace.tokens(), .target = p,
                            .threshold = options.threshold, .edges = {}};
    Descent(trace, options, graph).run(cancel, progress);
    return graph;
}

Eigen::MatrixXd head_contribution_map(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    require_own_text(trace, "The map of a head's contributions");
    check_head(trace, id);
    const at::NoGradGuard no_grad;
    const Layered values(trace, id.layer);
    Eigen::MatrixXd map(trace.tokens(), trace.tokens());
    for (std::int64_t first = 0; first < trace.tokens(); first += kStretch) {
        cancel.throw_if_cancelled();
        const std::int64_t last = std::min(first + kStretch, trace.tokens());
        std::vector<std::int64_t> tokens(static_cast<std::size_t>(last - first));
        std::iota(tokens.begin(), tokens.end(), first);
        const std::vector<AttentionShares> found = values.shares(tokens, values.patterns(first, last - first), first);
        for (std::size_t i = 0; i < found.size(); ++i)
            map.row(first + static_cast<std::int64_t>(i)) = found[i].from_heads.row(id.head.value);
    }
    return map;
}

}  // namespace headlight::analyze
