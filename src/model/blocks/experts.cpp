// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/blocks/experts.h"

#include <cmath>
#include <limits>
#include <tuple>

namespace headlight::model {
namespace {

/// One expert and the tokens it works for.
struct Part {
    std::int64_t unit, width;  ///< its hidden units
    at::Tensor tokens;         ///< undefined: all
    at::Tensor weights;        ///< [token, 1]; undefined: 1
    at::Tensor of(const at::Tensor& rows) const { return tokens.defined() ? rows.index_select(0, tokens) : rows; }
    at::Tensor units(const at::Tensor& rows) const { return of(rows.narrow(1, unit, width)).contiguous(); }
};

template <class T>
void sigmoids_of(const T* x, std::int64_t n, T* out) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = T{1} / (T{1} + std::exp(-x[i]));
}

/// ATen's is vectorised but for the last few numbers, whose bits would depend on how many tokens there are.
at::Tensor sigmoids(const at::Tensor& x) {
    if (!has_kernels(x)) return at::sigmoid(x);
    const at::Tensor in = x.contiguous();
    at::Tensor out = at::empty_like(in);
    in.scalar_type() == at::kFloat ? sigmoids_of(in.data_ptr<float>(), in.numel(), out.data_ptr<float>())
                                   : sigmoids_of(in.data_ptr<double>(), in.numel(), out.data_ptr<double>());
    return out;
}

std::vector<Part> parts_of(const ModelConfig& c, const at::Tensor& weights, const at::Tensor& shared_gate) {
    const Experts& e = c.experts;
    std::vector<Part> parts;
    const at::Tensor chosen = weights.detach().ne(0).to(at::kCPU);
    for (std::int64_t i = 0; i < e.count; ++i) {
        at::Tensor tokens = chosen.select(1, i).nonzero().squeeze(1);
        if (tokens.size(0) == 0) continue;
        tokens = tokens.to(weights.device());
        parts.push_back({i * e.width, e.width, tokens, weights.select(1, i).index_select(0, tokens).unsqueeze(1)});
    }
    if (e.shared_width > 0) parts.push_back({e.count * e.width, e.shared_width, {}, shared_gate});
    return parts;
}

/// [pos, hidden units], 0 where nothing was computed.
at::Tensor spread(const ModelConfig& c, const std::vector<Part>& parts, const std::vector<at::Tensor>& each, std::int64_t tokens,
                  const at::TensorOptions& options) {
    at::Tensor whole = at::zeros({tokens, c.experts.units()}, options);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        at::Tensor columns = whole.narrow(1, parts[i].unit, parts[i].width);
        parts[i].tokens.defined() ? columns.index_copy_(0, parts[i].tokens, each[i]) : columns.copy_(each[i]);
    }
    return whole;
}

/// `rank` [pos, expert] with -inf for the experts of all but each token's best groups.
at::Tensor of_best_groups(const Experts& e, const at::Tensor& rank) {
    const at::Tensor by_group = rank.reshape({rank.size(0), e.groups, e.count / e.groups});
    const at::Tensor worth = std::get<0>(by_group.topk(e.group_best, -1)).sum(-1);  // [pos, group]
    const at::Tensor best = std::get<1>(worth.topk(e.groups_chosen, -1));
    const at::Tensor left_out = at::ones_like(worth, at::kBool).scatter(1, best, false);
    return by_group.masked_fill(left_out.unsqueeze(-1), -std::numeric_limits<double>::infinity()).reshape_as(rank);
}

/// SparseMixer (Liu et al. 2023) at inference, as PhiMoE uses it: the best expert is weighted by a softmax over those whose
/// logits lie within 2 jitter of the best, relative to the larger of the two; then the next best without it, by a softmax without
/// it.
at::Tensor sparse_mixer(const Experts& e, const at::Tensor& logits) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    at::Tensor left = logits, weights = at::zeros_like(logits);
    for (std::int64_t i = 0; i < e.chosen; ++i) {
        const auto [best, at] = left.max(-1, true);
        const at::Tensor far = (best - logits) / at::max(logits.abs(), best) > 2 * e.mixer_jitter;
        weights = weights.scatter(1, at, at::softmax(left.masked_fill(far, none), -1).gather(1, at));
        left = left.scatter(1, at, none);
    }
    return weights;
}

/// Weight of every expert for every token, 0 for those not chosen: [pos, expert].
at::Tensor routing(const Experts& e, const at::Tensor& logits, const at::Tensor& correction) {
    if (e.mixer_jitter > 0) return sparse_mixer(e, logits);
    const at::Tensor wide = logits.scalar_type() == at::kBFloat16 ? logits.to(at::kFloat) : logits;
    const at::Tensor scores = e.sigmoid ? sigmoids(wide) : at::softmax(wide, -1);
    at::Tensor rank = (e.weighs_input ? wide : scores).detach();  // sigmoids of large logits are equal
    if (correction.defined()) rank = rank + correction;
    if (e.groups > 0) rank = of_best_groups(e, rank);
    const at::Tensor chosen = std::get<1>(rank.topk(e.chosen, -1));
    at::Tensor values = scores.gather(1, chosen);
    constexpr double least = 1e-20;  // the reference's; sigmoids may all be 0
    if (e.normalized) values = values / (values.sum(-1, true) + least);
    if (e.scale != 1.0) values = values * e.scale;
    return at::zeros_like(scores).scatter(1, chosen, values).to(e.wide_weights ? wide.scalar_type() : logits.scalar_type());
}

/// In a bfloat16 run some references take the product in float32, so that rounding does not decide between experts.
at::Tensor router_logits(const Experts& e, const Linear& router, const at::Tensor& x) {
    if (!e.wide_router || x.scalar_type() != at::kBFloat16) return apply(router, x);
    return apply({router.weight.to(at::kFloat), router.bias.defined() ? router.bias.to(at::kFloat) : router.bias},
                 x.to(at::kFloat));
}

/// act(pre) * pre_linear * weight of one expert's tokens; where the model cuts both branches, of what is left.
at::Tensor post_of(const ModelConfig& c, const Part& part, at::Tensor pre, at::Tensor pre_linear) {
    if (c.mlp_clamp > 0) {
        pre = pre.clamp_max(c.mlp_clamp);
        pre_linear = pre_linear.clamp(-c.mlp_clamp, c.mlp_clamp) + 1;
    }
    at::Tensor post = bias_and_activate(pre, {}, c.activation);
    if (c.gated_mlp) post = post * pre_linear;
    return part.weights.defined() && !c.experts.weighs_input ? (post * part.weights).to(post.scalar_type()) : post;
}

/// Passes the experts' tensors through one hook over all hidden units; `each` receives the result.
void hook_units(Pass& pass, Hook hook, Layer layer, const at::Tensor& x, const std::vector<Part>& parts,
                std::vector<at::Tensor>& each) {
    if (!pass.wants(hook, layer)) return;
    const at::Tensor whole = spread(pass.config(), parts, each, x.size(0), x.options());
    const at::Tensor seen = pass.hook(hook, layer, whole);
    if (seen.is_same(whole)) return;
    for (std::size_t i = 0; i < parts.size(); ++i) each[i] = parts[i].units(seen);
}

}  // namespace

at::Tensor experts(Pass& pass, Layer layer, const at::Tensor& x) {
    const ModelConfig& c = pass.config();
    const auto held = weights_of(pass.model, layer, LayerPart::mlp);
    const LayerWeights& w = *held;
    const at::Tensor logits = pass.hook(Hook::router, layer, router_logits(c.experts, w.router, x));
    const at::Tensor weights = pass.hook(Hook::experts, layer, routing(c.experts, logits, w.router_correction));
    at::Tensor gate;
    if (c.experts.shared_gate) gate = pass.hook(Hook::shared_gate, layer, sigmoids(apply(w.shared_gate, x)));
    const std::vector<Part> parts = parts_of(c, weights, gate);
    const at::Tensor bias = w.expert_bias.defined() ? product(weights, w.expert_bias) : at::zeros_like(x);
    const auto units = [&pass](const Linear& all, const Part& part, const at::Tensor& in) {
        const at::Tensor own = all.bias.defined() ? all.bias.narrow(0, part.unit, part.width) : all.bias;
        return apply(pass, {all.weight.narrow(1, part.unit, part.width), own}, in);
    };

    std::vector<at::Tensor> inputs, pre, up, post;
    for (const Part& part : parts) {
        inputs.push_back(part.of(x));
        if (c.experts.weighs_input && part.weights.defined())
            inputs.back() = (inputs.back() * part.weights).to(inputs.back().scalar_type());
        pre.push_back(units(w.mlp_in, part, inputs.back()));
    }
    hook_units(pass, Hook::mlp_pre, layer, x, parts, pre);
    for (std::size_t i = 0; i < parts.size(); ++i)
        up.push_back(c.gated_mlp ? units(w.mlp_up, parts[i], inputs[i]) : at::Tensor());
    if (c.gated_mlp) hook_units(pass, Hook::mlp_pre_linear, layer, x, parts, up);
    for (std::size_t i = 0; i < parts.size(); ++i) post.push_back(post_of(c, parts[i], pre[i], up[i]));

    if (pass.wants(Hook::mlp_post, layer)) {
        const at::Tensor whole = spread(c, parts, post, x.size(0), x.options());
        const at::Tensor seen = pass.hook(Hook::mlp_post, layer, whole);
        // A replacement may use experts that were not chosen.
        if (!seen.is_same(whole)) return product(pass, seen, w.mlp_out.weight).add_(bias);
    }
    at::Tensor out = bias.clone();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const at::Tensor written = product(pass, post[i], w.mlp_out.weight.narrow(0, parts[i].unit, parts[i].width));
        parts[i].tokens.defined() ? out.index_add_(0, parts[i].tokens, written) : out.add_(written);
    }
    return out;
}

at::Tensor expert_post(const ModelConfig& c, const at::Tensor& pre, const at::Tensor& pre_linear, const at::Tensor& weights,
                       const at::Tensor& shared_gate) {
    const std::vector<Part> parts = parts_of(c, weights, shared_gate);
    std::vector<at::Tensor> post;
    for (const Part& part : parts) {
        post.push_back(post_of(c, part, part.units(pre), part.units(pre_linear)));
    }
    return spread(c, parts, post, pre.size(0), pre.options());
}

}  // namespace headlight::model
