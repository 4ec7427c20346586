// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/prediction/stream_paths.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/core/grad_mode.h>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

double scalar(const at::Tensor& a, const at::Tensor& b) { return at::dot(a, b).item<double>(); }

/// Walks from the last layer to the embedding, one position.
class Walk {
public:
    Walk(const trace::Trace& trace, Position p, bool neurons, Directions* directions)
        : trace_(trace), c_(trace.config()), p_(p), neurons_(neurons), directions_(directions) {
        if (!directions_) return;
        directions_->attention.resize(static_cast<std::size_t>(c_.n_layers));
        directions_->cross.resize(has_cross_attention(c_) ? static_cast<std::size_t>(c_.n_layers) : 0);
    }

    Decomposition run(const StreamReading& reading) {
        u_ = reading.direction;
        for (std::int64_t l = reading.layer.value; l >= 0; --l) {
            if (l < reading.layer.value || reading.behind_mlp) mlp(Layer(l));
            if (l < reading.layer.value || reading.behind_attention) {
                if (has_cross_attention(c_)) cross(Layer(l));
                attention(Layer(l));
            }
        }
        embedding();
        if (constant_ != 0) add(Component::norm_bias, -1, -1, constant_);
        Decomposition split;
        // The walk went backwards; the parts are listed in the order of the pass.
        split.parts.assign(backwards_.rbegin(), backwards_.rend());
        split.parts.push_back({Component::final_bias, -1, -1, reading.constant});
        if (reading.nonlinear != 0) split.parts.push_back({Component::nonlinear, -1, -1, reading.nonlinear});
        for (const Contribution& part : split.parts) split.sum += part.value;
        return split;
    }

private:
    void add(Component component, std::int64_t layer, std::int64_t index, double value) {
        backwards_.push_back({component, layer, index, value});
    }

    void through(Hook scale, Layer layer) { u_ = frozen_norm(trace_, scale, layer, p_).back(u_, constant_); }

    /// Between the MLP and what the next layer reads.
    void convolution(Layer l) {
        if (!has_convolution(c_, l.value)) return;
        through(Hook::ln_conv_scale, l);
        add(Component::conv, l.value, -1, scalar(u_, state_row(trace_, Hook::conv_out, l, p_)));
    }

    void mlp(Layer l) {
        convolution(l);
        if (c_.post_norm) through(Hook::ln2_scale, l);
        if (neurons_)
            each_neuron(l, branch(Hook::ln2_post_scale, l));
        else
            add(Component::mlp, l.value, -1, scalar(u_, state_row(trace_, Hook::mlp_out, l, p_)));
        if (c_.residual_after_norm) through(Hook::ln2_scale, l);
    }

    /// What it reads is another text; what it writes goes into the same stream.
    void cross(Layer l) {
        if (c_.post_norm) through(Hook::ln_cross_scale, l);
        if (directions_) directions_->cross[static_cast<std::size_t>(l.value)] = u_;
        heads_of(*trace_.part(model::Stack::cross), l, u_, Component::cross_head, Component::cross_bias);
    }

    /// The bias and the heads of an attention, by its own trace.
    void heads_of(const trace::Trace& trace, Layer l, const at::Tensor& u, Component head, Component bias) {
        const at::Tensor b_o = wide(trace::layer_vectors(*trace.model(), l).b_o);
        if (b_o.defined()) add(bias, l.value, -1, scalar(u, b_o));
        const at::Tensor heads = at::mv(state_row(trace, Hook::result, l, p_), u).contiguous();
        for (std::int64_t h = heads.size(0) - 1; h >= 0; --h) add(head, l.value, h, heads.data_ptr<double>()[h]);
    }

    /// The direction in front of the norm of what a sub-layer gives.
    at::Tensor branch(Hook scale, Layer l) { return c_.branch_norm ? frozen_norm(trace_, scale, l, p_).back(u_, constant_) : u_; }

    void each_neuron(Layer l, const at::Tensor& u) {
        const trace::MlpTensors w = trace::mlp_weights(*trace_.model(), l);
        if (w.b_out.defined()) add(Component::mlp_bias, l.value, -1, scalar(u, wide(w.b_out)));
        if (w.b_experts.defined())
            add(Component::mlp_bias, l.value, -1,
                scalar(u, at::mv(wide(w.b_experts).t(), state_row(trace_, Hook::experts, l, p_))));
        // The matrix stays in its own type: turning it to float64 would cost ten times the product.
        const at::Tensor post = state_row(trace_, Hook::mlp_post, l, p_);
        const at::Tensor weight = w.w_out.cpu();
        const auto type = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        const at::Tensor effect = (at::mv(weight.to(type), u.to(type)).to(at::kDouble) * post).contiguous();
        const double* values = effect.data_ptr<double>();
        for (std::int64_t i = effect.size(0) - 1; i >= 0; --i) add(Component::neuron, l.value, i, values[i]);
    }

    void attention(Layer l) {
        if (c_.post_norm) through(Hook::ln1_scale, l);
        const at::Tensor u = branch(Hook::ln1_post_scale, l);
        if (directions_) directions_->attention[static_cast<std::size_t>(l.value)] = u;
        heads_of(trace_, l, u, Component::head, Component::attn_bias);
        if (c_.residual_after_norm) through(Hook::ln1_scale, l);
    }

    void embedding() {
        const bool pos = c_.positions == model::Positions::learned, type = c_.type_vocab_size > 0;
        if ((c_.embed_norm && !pos && !type) || c_.d_embed > 0) {
            add(Component::embed, -1, -1, scalar(u_, state_row(trace_, Hook::resid_pre, Layer(0), p_)));
            return;
        }
        if (c_.embed_norm) through(Hook::embed_norm_scale, Layer(0));
        if (type) add(Component::token_type, -1, -1, scalar(u_, state_row(trace_, Hook::token_type_embed, Layer(0), p_)));
        if (pos) add(Component::pos, -1, -1, scalar(u_, state_row(trace_, Hook::pos_embed, Layer(0), p_)));
        add(Component::embed, -1, -1, scalar(u_, state_row(trace_, Hook::embed, Layer(0), p_)));
    }

    const trace::Trace& trace_;
    const model::ModelConfig& c_;
    Position p_;
    bool neurons_;
    Directions* directions_;
    at::Tensor u_;
    double constant_ = 0;
    std::vector<Contribution> backwards_;
};

}  // namespace

at::Tensor FrozenNorm::back(const at::Tensor& direction, double& constant) const {
    if (bias.defined()) constant += scalar(direction, bias);
    at::Tensor u = gain.defined() ? direction * gain : direction;
    if (centred) u = u - u.mean();
    return u / scale;
}

at::Tensor FrozenNorm::forward(const at::Tensor& change) const {
    at::Tensor x = centred ? change - change.mean() : change;
    x = x / scale;
    return gain.defined() ? x * gain : x;
}

FrozenNorm frozen_norm(const trace::Trace& trace, Hook scale, Layer layer, Position p) {
    const model::Model& model = *trace.model();
    trace::NormTensors w;
    switch (scale) {
        case Hook::ln1_scale: w = trace::layer_vectors(model, layer).attention; break;
        case Hook::ln2_scale: w = trace::layer_vectors(model, layer).mlp; break;
        case Hook::ln_cross_scale: w = trace::layer_vectors(*model.part(model::Stack::cross), layer).attention; break;
        case Hook::ln1_post_scale: w = trace::layer_vectors(model, layer).attention_branch; break;
        case Hook::ln2_post_scale: w = trace::layer_vectors(model, layer).mlp_branch; break;
        case Hook::ln_conv_scale: w = trace::convolution_norm(model); break;
        case Hook::embed_norm_scale: w = trace::embedding_norm(model); break;
        case Hook::mlm_ln_scale: w = trace::dense_head(model).norm; break;
        default: w = trace::final_norm(model);
    }
    return {.gain = wide(w.gain),
            .bias = wide(w.bias),
            .scale = state_row(trace, scale, layer, p).item<double>(),
            .centred = trace.config().norm == model::Norm::layer_norm};
}

Decomposition split_reading(const trace::Trace& trace, Position p, const StreamReading& reading, bool neurons,
                            Directions* directions) {
    const at::NoGradGuard no_grad;
    return Walk(trace, p, neurons, directions).run(reading);
}

at::Tensor sources_of(const trace::Trace& trace, HeadId id, Position p, const at::Tensor& direction) {
    const at::NoGradGuard no_grad;
    const at::Tensor w_o = trace::attention_output(*trace.model(), id.layer).w_o.select(0, id.head.value);
    const at::Tensor read = at::mv(wide(w_o), direction);  // [d_head]
    const at::Tensor weights = wide(trace::pattern_rows(trace, id.layer, id.head, p.value, 1).select(0, 0));
    return (weights * at::mv(wide(head_values(trace, id)), read)).contiguous();
}

}  // namespace headlight::analyze
