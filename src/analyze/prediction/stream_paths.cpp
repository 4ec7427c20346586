// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/prediction/stream_paths.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

/// [count, ...] float64
at::Tensor rows_of_hook(const trace::Trace& trace, Hook hook, Layer layer, std::int64_t first, std::int64_t count) {
    return wide(trace::tensor_rows(trace, {hook, layer}, first, count)).contiguous();
}

/// Walks from the last layer to the embedding, with the directions of several positions.
class Walk {
public:
    Walk(const trace::Trace& trace, std::int64_t first, const StreamReadings& readings, bool neurons, Directions* directions)
        : trace_(trace),
          c_(trace.config()),
          first_(first),
          count_(readings.directions.size(0)),
          neurons_(neurons),
          splits_embedding_(readings.splits_embedding),
          directions_(directions),
          u_(readings.directions) {
        if (!directions_) return;
        directions_->attention.resize(static_cast<std::size_t>(c_.n_layers));
        directions_->cross.resize(has_cross_attention(c_) ? static_cast<std::size_t>(c_.n_layers) : 0);
    }

    std::vector<PartReadings> run(const StreamReadings& readings) {
        for (std::int64_t l = readings.layer.value; l >= 0; --l) {
            if (l < readings.layer.value || readings.behind_mlp) mlp(Layer(l));
            if (l < readings.layer.value || readings.behind_attention) {
                if (has_cross_attention(c_)) cross(Layer(l));
                attention(Layer(l));
            }
        }
        embedding();
        if (constants_.defined()) add(Component::norm_bias, -1, constants_);
        std::ranges::reverse(parts_);  // the walk went backwards; the parts are listed in the order of the pass
        add(Component::final_bias, -1, readings.constants);
        return std::move(parts_);
    }

private:
    void add(Component component, std::int64_t layer, const at::Tensor& values) {
        parts_.push_back({component, layer, values.unsqueeze(2)});
    }
    /// What the directions read of vectors, one a position [count, d_model] or one for all [d_model].
    at::Tensor reads(const at::Tensor& u, const at::Tensor& x) const {
        return x.dim() == 1 ? at::matmul(u, x) : at::matmul(u, x.unsqueeze(2)).squeeze(2);
    }
    void add_hook(Component component, Hook hook, Layer l, std::int64_t layer, const at::Tensor& u) {
        add(component, layer, reads(u, rows(hook, l)));
    }
    at::Tensor rows(Hook hook, Layer l) const { return rows_of_hook(trace_, hook, l, first_, count_); }

    at::Tensor behind(Hook scale, Layer layer) {
        const FrozenNorm norm = frozen_norms(trace_, scale, layer, first_, count_);
        if (norm.bias.defined()) constants_ = constants_.defined() ? constants_ + norm.of_bias(u_) : norm.of_bias(u_);
        return norm.back(u_);
    }
    void through(Hook scale, Layer layer) { u_ = behind(scale, layer); }

    /// Between the MLP and what the next layer reads.
    void convolution(Layer l) {
        if (!has_convolution(c_, l.value)) return;
        through(Hook::ln_conv_scale, l);
        add_hook(Component::conv, Hook::conv_out, l, l.value, u_);
    }

    void mlp(Layer l) {
        convolution(l);
        if (c_.post_norm) through(Hook::ln2_scale, l);
        if (neurons_)
            each_neuron(l, branch(Hook::ln2_post_scale, l));
        else
            add_hook(Component::mlp, Hook::mlp_out, l, l.value, u_);
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
        if (b_o.defined()) add(bias, l.value, reads(u, b_o));
        const at::Tensor written = rows_of_hook(trace, Hook::result, l, first_, count_);
        parts_.push_back({head, l.value, at::bmm(u, written.transpose(1, 2)), true});
    }

    /// The direction in front of the norm of what a sub-layer gives.
    at::Tensor branch(Hook scale, Layer l) { return c_.branch_norm ? behind(scale, l) : u_; }

    /// Of one reading at one position.
    void each_neuron(Layer l, const at::Tensor& directions) {
        const at::Tensor u = directions[0][0];
        const trace::MlpTensors w = trace::mlp_weights(*trace_.model(), l);
        if (w.b_out.defined()) add(Component::mlp_bias, l.value, reads(directions, wide(w.b_out)));
        if (w.b_experts.defined())
            add(Component::mlp_bias, l.value, reads(directions, at::matmul(rows(Hook::experts, l), wide(w.b_experts))));
        // The matrix stays in its own type: turning it to float64 would cost ten times the product.
        const at::Tensor weight = w.w_out.cpu();
        const auto type = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        const at::Tensor effect = at::mv(weight.to(type), u.to(type)).to(at::kDouble) * rows(Hook::mlp_post, l)[0];
        parts_.push_back({Component::neuron, l.value, effect.view({1, 1, -1}), true});
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
        const auto add_written = [&](Component component, Hook hook) { add_hook(component, hook, Layer(0), -1, u_); };
        if ((c_.embed_norm && !pos && !type && !splits_embedding_) || c_.d_embed > 0)
            return add_written(Component::embed, Hook::resid_pre);
        if (c_.embed_norm) through(Hook::embed_norm_scale, Layer(0));
        if (type) add_written(Component::token_type, Hook::token_type_embed);
        if (pos) add_written(Component::pos, Hook::pos_embed);
        add_written(Component::embed, Hook::embed);
    }

    const trace::Trace& trace_;
    const model::ModelConfig& c_;
    std::int64_t first_, count_;
    bool neurons_, splits_embedding_;
    Directions* directions_;
    at::Tensor u_, constants_;
    std::vector<PartReadings> parts_;
};

trace::NormTensors norm_of(const trace::Trace& trace, Hook scale, Layer layer) {
    const model::Model& model = *trace.model();
    switch (scale) {
        case Hook::ln1_scale: return trace::layer_vectors(model, layer).attention;
        case Hook::ln2_scale: return trace::layer_vectors(model, layer).mlp;
        case Hook::ln_cross_scale: return trace::layer_vectors(*model.part(model::Stack::cross), layer).attention;
        case Hook::ln1_post_scale: return trace::layer_vectors(model, layer).attention_branch;
        case Hook::ln2_post_scale: return trace::layer_vectors(model, layer).mlp_branch;
        case Hook::ln_conv_scale: return trace::convolution_norm(model);
        case Hook::embed_norm_scale: return trace::embedding_norm(model);
        case Hook::mlm_ln_scale: return trace::dense_head(model).norm;
        default: return trace::final_norm(model);
    }
}

}  // namespace

at::Tensor FrozenNorm::of_bias(const at::Tensor& directions) const { return at::matmul(directions, bias); }

at::Tensor FrozenNorm::back(const at::Tensor& directions) const {
    at::Tensor u = gain.defined() ? directions * gain : directions;
    if (centred) u = u - u.mean(-1, true);
    return u / scale;
}

at::Tensor FrozenNorm::forward(const at::Tensor& change) const {
    at::Tensor x = centred ? change - change.mean() : change;
    x = x / scale;
    return gain.defined() ? x * gain : x;
}

FrozenNorm frozen_norms(const trace::Trace& trace, Hook scale, Layer layer, std::int64_t first, std::int64_t count) {
    const trace::NormTensors w = norm_of(trace, scale, layer);
    return {.gain = wide(w.gain),
            .bias = wide(w.bias),
            .scale = rows_of_hook(trace, scale, layer, first, count).view({count, 1, 1}),
            .centred = trace.config().norm == model::Norm::layer_norm};
}

FrozenNorm frozen_norm(const trace::Trace& trace, Hook scale, Layer layer, Position p) {
    FrozenNorm norm = frozen_norms(trace, scale, layer, p.value, 1);
    norm.scale = norm.scale.squeeze();
    return norm;
}

at::Tensor before_norm(const trace::Trace& trace, Hook scale, Layer layer, Position p, const at::Tensor& direction,
                       double& constant) {
    const FrozenNorm norm = frozen_norm(trace, scale, layer, p);
    if (norm.bias.defined()) constant += norm.of_bias(direction).item<double>();
    return norm.back(direction);
}

std::vector<PartReadings> split_readings(const trace::Trace& trace, std::int64_t first, const StreamReadings& readings,
                                         std::vector<at::Tensor>* attention) {
    const at::NoGradGuard no_grad;
    Directions directions;
    std::vector<PartReadings> parts = Walk(trace, first, readings, false, attention ? &directions : nullptr).run(readings);
    if (attention) *attention = std::move(directions.attention);
    return parts;
}

Decomposition split_reading(const trace::Trace& trace, Position p, const StreamReading& reading, bool neurons,
                            Directions* directions) {
    const at::NoGradGuard no_grad;
    const StreamReadings one{.directions = reading.direction.view({1, 1, -1}),
                             .constants = at::full({1, 1}, reading.constant, at::kDouble),
                             .layer = reading.layer,
                             .behind_mlp = reading.behind_mlp,
                             .behind_attention = reading.behind_attention,
                             .splits_embedding = false};
    Decomposition split;
    for (const PartReadings& part : Walk(trace, p.value, one, neurons, directions).run(one)) {
        const at::Tensor values = part.values.contiguous();
        for (std::int64_t i = 0; i < values.size(2); ++i)
            split.parts.push_back({part.component, part.layer, part.indexed ? i : -1, values.data_ptr<double>()[i]});
    }
    if (directions)
        for (auto* layers : {&directions->attention, &directions->cross})
            for (at::Tensor& u : *layers)
                if (u.defined()) u = u[0][0];
    if (reading.nonlinear != 0) split.parts.push_back({Component::nonlinear, -1, -1, reading.nonlinear});
    for (const Contribution& part : split.parts) split.sum += part.value;
    return split;
}

at::Tensor sources_of(const trace::Trace& trace, HeadId id, Position p, const at::Tensor& direction) {
    const at::NoGradGuard no_grad;
    const at::Tensor w_o = trace::attention_output(*trace.model(), id.layer).w_o.select(0, id.head.value);
    const at::Tensor read = at::mv(wide(w_o), direction);  // [d_head]
    const at::Tensor weights = wide(trace::pattern_rows(trace, id.layer, id.head, p.value, 1).select(0, 0));
    return (weights * at::mv(wide(head_values(trace, id)), read)).contiguous();
}

}  // namespace headlight::analyze
