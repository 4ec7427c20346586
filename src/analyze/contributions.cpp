// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contributions.h"

#include "analyze/head_reader.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights.h"
#include "model/kernels.h"

#include <ATen/core/grad_mode.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

constexpr double kLeast = 1e-5;
/// Tokens whose patterns are held at a time.
constexpr std::int64_t kStretch = 32;

at::Tensor plain(const at::Tensor& t) {
    return t.to(at::kCPU, at::kFloat).contiguous();
}

at::Tensor row(const trace::Trace& trace, Hook hook, Layer layer, Position p) {
    return plain(trace::tensor_rows(trace, HookPoint{hook, layer}, p.value, 1).select(0, 0));
}

double weight_of(const at::Tensor& whole, double whole_norm, float scale, const float* part) {
    const double distance = model::kernels::distance(whole.data_ptr<float>(), scale, part, whole.size(0));
    return std::max(whole_norm - distance, kLeast);
}

double norm_of(const at::Tensor& x) {
    return model::kernels::distance(x.data_ptr<float>(), 0.0F, x.data_ptr<float>(), x.size(0));
}

/// What the attention's output is added to at a token, and the sum.
struct Sum {
    at::Tensor stream, whole;
};

at::Tensor behind_norm(const trace::Trace& trace, Hook normalized, Layer layer, Position p, const trace::NormTensors& norm) {
    at::Tensor x = row(trace, normalized, layer, p);
    if (norm.gain.defined()) x = x * plain(norm.gain);
    if (norm.bias.defined()) x = x + plain(norm.bias);
    return x;
}

Sum around_attention(const trace::Trace& trace, Layer layer, Position p) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream =
        c.residual_after_norm
            ? behind_norm(trace, Hook::ln1_normalized, layer, p, trace::attention_output(*trace.model(), layer).norm)
            : row(trace, Hook::resid_pre, layer, p);
    return {stream, c.post_norm ? stream + row(trace, Hook::attn_out, layer, p) : row(trace, Hook::resid_mid, layer, p)};
}

Sum around_mlp(const trace::Trace& trace, Layer layer, Position p) {
    const model::ModelConfig& c = trace.config();
    const at::Tensor stream =
        c.residual_after_norm
            ? behind_norm(trace, Hook::ln2_normalized, layer, p, trace::mlp_weights(*trace.model(), layer).norm)
            : row(trace, Hook::resid_mid, layer, p);
    return {stream, c.post_norm ? stream + row(trace, Hook::mlp_out, layer, p) : row(trace, Hook::resid_post, layer, p)};
}

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
        lengths_ = written_.abs().sum(-1).contiguous();
    }

    /// Rows of every head's pattern for a stretch of tokens: [head, count, key].
    at::Tensor patterns(std::int64_t first, std::int64_t count) const {
        std::vector<at::Tensor> rows;
        for (std::int64_t h = 0; h < trace_.config().n_heads; ++h)
            rows.push_back(plain(trace::pattern_rows(trace_, layer_, Head(h), first, count)));
        return at::stack(rows);
    }

    AttentionShares shares(Position p) const {
        const std::int64_t only = p.value;
        AttentionShares out;
        shares(&only, 1, patterns(only, 1), only, &out);
        return out;
    }

    /// Of up to four tokens at once, so that every written vector is read once for all of them; with the patterns of a
    /// stretch of tokens that begins at `first`.
    void shares(const std::int64_t* tokens, std::int64_t count, const at::Tensor& stretch, std::int64_t first,
                AttentionShares* out) const {
        const model::ModelConfig& c = trace_.config();
        const std::int64_t d = c.d_model, heads = c.n_heads;
        const ReadableKeys readable(trace_, layer_);
        std::array<at::Tensor, 4> wholes;
        std::array<double, 4> norms{};
        std::array<std::int64_t, 4> keys{};
        std::int64_t most_keys = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const Sum sum = around_attention(trace_, layer_, Position(tokens[i]));
            wholes[at] = sum.whole.contiguous();
            norms[at] = norm_of(wholes[at]);
            keys[at] = readable(tokens[i]);
            most_keys = std::max(most_keys, keys[at]);
            out[i].from_heads = Eigen::MatrixXd::Zero(heads, trace_.tokens());
            out[i].residual = weight_of(wholes[at], norms[at], 1.0F, sum.stream.contiguous().data_ptr<float>());
        }
        const float* written = written_.data_ptr<float>();
        const float* lengths = lengths_.data_ptr<float>();
        for (std::int64_t h = 0; h < heads; ++h) {
            std::array<const float*, 4> rows{};
            for (std::int64_t i = 0; i < count; ++i)
                rows[static_cast<std::size_t>(i)] =
                    stretch.data_ptr<float>() + (h * stretch.size(1) + tokens[i] - first) * stretch.size(2);
            const auto weight = [&](std::size_t i, std::int64_t j) {
                return rows[i][j] * inverse_.data_ptr<float>()[tokens[i]];
            };
            for (std::int64_t j = 0; j < most_keys; ++j) {
                // |w| - |w - p| is at most |p|: most keys have next to no weight and need no look at the vectors.
                const double length = static_cast<double>(lengths[j * heads + h]);
                std::array<std::size_t, 4> asked{};
                int n = 0;
                for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
                    if (j >= keys[i]) continue;
                    if (static_cast<double>(weight(i, j)) * length <= kLeast)
                        out[i].from_heads(h, j) = kLeast;
                    else
                        asked[static_cast<std::size_t>(n++)] = i;
                }
                const float* part = written + (j * heads + h) * d;
                if (n == 4) {
                    const float* x[4];
                    float scale[4];
                    double distance[4];
                    for (std::size_t i = 0; i < 4; ++i) {
                        x[i] = wholes[i].data_ptr<float>();
                        scale[i] = weight(i, j);
                    }
                    model::kernels::distances(x, scale, part, d, distance);
                    for (std::size_t i = 0; i < 4; ++i)
                        out[i].from_heads(h, j) = std::max(norms[i] - distance[i], kLeast);
                    continue;
                }
                for (int k = 0; k < n; ++k) {
                    const std::size_t i = asked[static_cast<std::size_t>(k)];
                    out[i].from_heads(h, j) = weight_of(wholes[i], norms[i], weight(i, j), part);
                }
            }
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const double total = out[i].residual + out[i].from_heads.sum();
            out[i].residual /= total;
            out[i].from_heads /= total;
        }
    }

private:
    const trace::Trace& trace_;
    Layer layer_;
    at::Tensor written_;  ///< [token, head, d_model]
    at::Tensor inverse_;  ///< [token] one over the scale of the norm behind the attention; 1 without
    at::Tensor lengths_;  ///< [token, head], sums of absolute values
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
        std::vector<std::int64_t> behind_attention;
        for (std::int64_t p = 0; p < graph_.tokens; ++p)
            if (wanted[static_cast<std::size_t>(p)] && mlp(l, p)) behind_attention.push_back(p);
        std::vector<bool> below(wanted.size());
        if (behind_attention.empty()) return below;
        const Layered values(trace_, l);
        for (auto from = behind_attention.begin(); from != behind_attention.end();) {
            cancel.throw_if_cancelled();
            const std::int64_t first = *from;
            const auto to = std::lower_bound(from, behind_attention.end(), first + kStretch);
            const at::Tensor patterns = values.patterns(first, *(to - 1) - first + 1);
            std::vector<AttentionShares> shares(static_cast<std::size_t>(to - from));
            const std::int64_t count = to - from;
            at::parallel_for(0, (count + 3) / 4, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin * 4; i < std::min(end * 4, count); i += 4)
                    values.shares(&*(from + i), std::min<std::int64_t>(4, count - i), patterns, first,
                                  shares.data() + i);
            });
            for (const AttentionShares& share : shares) attention(l, *from++, share, below);
        }
        return below;
    }

    bool kept(double weight) const { return weight > o_.threshold; }

    /// True when the token's state behind attention is used.
    bool mlp(Layer l, std::int64_t p) {
        MlpShares s = mlp_shares(trace_, l, Position(p));
        const bool through = kept(s.mlp), past = kept(s.residual);
        const double rest = (through ? s.mlp : 0) + (past ? s.residual : 0);
        const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
        if (through) graph_.edges.push_back({Kind::mlp, l.value, p, p, s.mlp * by, {}});
        if (past) graph_.edges.push_back({Kind::mlp_residual, l.value, p, p, s.residual * by, {}});
        return through || past;
    }

    void attention(Layer l, std::int64_t p, const AttentionShares& s, std::vector<bool>& below) {
        std::vector<ContributionEdge> edges;
        double rest = kept(s.residual) ? s.residual : 0;
        for (Eigen::Index j = 0; j < s.from_heads.cols(); ++j) {
            ContributionEdge edge{Kind::attention, l.value, j, p, 0, {}};
            for (Eigen::Index h = 0; h < s.from_heads.rows(); ++h)
                if (kept(s.from_heads(h, j))) edge.heads.emplace_back(h, s.from_heads(h, j));
            if (edge.heads.empty()) continue;
            std::sort(edge.heads.begin(), edge.heads.end(), [](const auto& a, const auto& b) {
                return a.second != b.second ? a.second > b.second : a.first < b.first;
            });
            for (const auto& head : edge.heads) edge.weight += head.second;
            rest += edge.weight;
            edges.push_back(std::move(edge));
        }
        const double by = o_.renormalise && rest > 0 ? 1 / rest : 1;
        if (kept(s.residual)) {
            graph_.edges.push_back({Kind::residual, l.value, p, p, s.residual * by, {}});
            below[static_cast<std::size_t>(p)] = true;
        }
        for (ContributionEdge& edge : edges) {
            edge.weight *= by;
            for (auto& head : edge.heads) head.second *= by;
            below[static_cast<std::size_t>(edge.from)] = true;
            graph_.edges.push_back(std::move(edge));
        }
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
    check_layer(trace, layer);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    return Layered(trace, layer).shares(p);
}

MlpShares mlp_shares(const trace::Trace& trace, Layer layer, Position p) {
    check_layer(trace, layer);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    const Sum sum = around_mlp(trace, layer, p);
    const at::Tensor whole = sum.whole.contiguous(), stream = sum.stream.contiguous(), out = row(trace, Hook::mlp_out, layer, p);
    const double norm = norm_of(whole);
    MlpShares shares{weight_of(whole, norm, 1.0F, out.data_ptr<float>()), weight_of(whole, norm, 1.0F, stream.data_ptr<float>())};
    const double total = shares.mlp + shares.residual;
    return {shares.mlp / total, shares.residual / total};
}

ContributionGraph contribution_graph(const trace::Trace& trace, Position p, const ContributionOptions& options,
                                     const CancelToken& cancel, const Progress& progress) {
    check_position(trace, p, "position");
    if (!(options.threshold >= 0 && options.threshold <= 1))
        throw Error({.problem = "The threshold is a share", .expected = "0 to 1", .found = std::to_string(options.threshold)});
    check_layer(trace, Layer(options.from_layer));
    const at::NoGradGuard no_grad;
    ContributionGraph graph{.layers = trace.config().n_layers, .tokens = trace.tokens(), .target = p,
                            .threshold = options.threshold, .edges = {}};
    Descent(trace, options, graph).run(cancel, progress);
    return graph;
}

Eigen::MatrixXd head_contribution_map(const trace::Trace& trace, HeadId id, const CancelToken& cancel) {
    check_head(trace, id);
    const at::NoGradGuard no_grad;
    const Layered values(trace, id.layer);
    Eigen::MatrixXd map(trace.tokens(), trace.tokens());
    for (std::int64_t first = 0; first < trace.tokens(); first += kStretch) {
        cancel.throw_if_cancelled();
        const std::int64_t last = std::min(first + kStretch, trace.tokens());
        const at::Tensor patterns = values.patterns(first, last - first);
        at::parallel_for(0, (last - first + 3) / 4, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = first + begin * 4; p < std::min(first + end * 4, last); p += 4) {
                std::array<std::int64_t, 4> tokens{p, p + 1, p + 2, p + 3};
                std::array<AttentionShares, 4> found;
                const std::int64_t count = std::min<std::int64_t>(4, last - p);
                values.shares(tokens.data(), count, patterns, first, found.data());
                for (std::int64_t i = 0; i < count; ++i)
                    map.row(p + i) = found[static_cast<std::size_t>(i)].from_heads.row(id.head.value);
            }
        });
    }
    return map;
}

}  // namespace headlight::analyze
