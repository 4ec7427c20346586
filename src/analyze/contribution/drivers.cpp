// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/base/numbers.h"

#include "analyze/pattern/head_reader.h"
#include "analyze/prediction/stream_paths.h"
#include "headlight/analyze/contribution/experts.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/base/error.h"
#include "headlight/trace/weights_in_parts.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

using model::Hook;
using model::HookPoint;

void check_neuron(const model::ModelConfig& c, NeuronId id) {
    const bool layer = id.layer.value >= 0 && id.layer.value < c.n_layers;
    const std::int64_t width = layer ? model::mlp_width(c, id.layer.value) : c.d_mlp;
    if (layer && id.neuron.value >= 0 && id.neuron.value < width) return;
    throw Error({.problem = "There is no such neuron",
                 .item = "layer " + std::to_string(id.layer.value) + ", neuron " + std::to_string(id.neuron.value),
                 .expected = "layer 0 to " + std::to_string(c.n_layers - 1) + ", neuron 0 to " + std::to_string(width - 1)});
}

/// What the input of each neuron of a layer is multiplied with at a position: its expert's weight, where experts weigh what they
/// read.
class InputWeights {
public:
    InputWeights(const trace::Trace& trace, Layer layer, Position p) : config_(trace.config()), layer_(layer.value) {
        if (config_.experts.weighs_input && model::has_experts(config_, layer_))
            of_experts_ = wide(trace::tensor_rows(trace, {Hook::experts, layer}, p.value, 1)[0]).contiguous();
    }
    double of(std::int64_t neuron) const {
        const std::int64_t expert = of_experts_.defined() ? model::expert_of(config_, layer_, neuron) : -1;
        return expert < 0 ? 1 : of_experts_.data_ptr<double>()[expert];
    }

private:
    const model::ModelConfig& config_;
    std::int64_t layer_;
    at::Tensor of_experts_;
};

/// The norm in front of the MLP.
Hook mlp_norm(const model::ModelConfig& c) { return c.shared_norm ? Hook::ln1_scale : Hook::ln2_scale; }

/// The pre-activation as a reading of the stream behind the layer's attention.
StreamReading neuron_reading(const trace::Trace& trace, NeuronId id, Position p, Branch branch) {
    const model::ModelConfig& c = trace.config();
    check_neuron(c, id);
    check_position(trace, p, "position");
    if (!neuron_works(trace, id, p))
        throw Error({.problem = "This neuron was not computed: its expert was not chosen for the token",
                     .item = "layer " + std::to_string(id.layer.value) + ", neuron " + std::to_string(id.neuron.value) +
                             " of expert " + std::to_string(model::expert_of(c, id.layer.value, id.neuron.value)) +
                             ", position " + std::to_string(p.value),
                     .hint = "Choose a token or a neuron of an expert that works there"});
    if (branch == Branch::up && !c.gated_mlp)
        throw Error({.problem = "The MLPs of this model have one branch", .item = c.name, .hint = "Leave the branch out"});
    const trace::MlpTensors w = trace::mlp_weights(*trace.model(), id.layer);
    const at::Tensor& matrix = branch == Branch::up ? w.w_up : w.w_in;
    const at::Tensor& bias = branch == Branch::up ? w.b_up : w.b_in;
    StreamReading reading{.direction = wide(matrix.select(1, id.neuron.value)),
                          .constant = 0,
                          .layer = id.layer,
                          .behind_mlp = false,
                          .behind_attention = !c.parallel};
    if (bias.defined()) reading.constant += bias[id.neuron.value].to(at::kDouble).item<double>();
    reading.direction = reading.direction * InputWeights(trace, id.layer, p).of(id.neuron.value);
    if (norm_before_mlp(c)) reading.direction = before_norm(trace, mlp_norm(c), id.layer, p, reading.direction, reading.constant);
    return reading;
}

bool larger(const NeuronScore& a, const NeuronScore& b) { return a.value != b.value ? a.value > b.value : a.id < b.id; }
bool stronger(const NeuronScore& a, const NeuronScore& b) {
    return std::abs(a.value) != std::abs(b.value) ? std::abs(a.value) > std::abs(b.value) : a.id < b.id;
}

template <class Order>
void keep_best(std::vector<NeuronScore>& scores, std::int64_t top, Order order) {
    const auto count = static_cast<std::ptrdiff_t>(std::clamp<std::int64_t>(top, 0, static_cast<std::int64_t>(scores.size())));
    std::partial_sort(scores.begin(), scores.begin() + count, scores.end(), order);
    scores.resize(static_cast<std::size_t>(count));
}

}  // namespace

Decomposition neuron_drivers(const trace::Trace& trace, NeuronId id, Position p, Branch branch) {
    const at::NoGradGuard no_grad;
    Decomposition split = split_reading(trace, p, neuron_reading(trace, id, p, branch), false);
    const Hook hook = branch == Branch::up ? Hook::mlp_pre_linear : Hook::mlp_pre;
    split.total = wide(trace::tensor_rows(trace, {hook, id.layer}, p.value, 1))[0][id.neuron.value].item<double>();
    return split;
}

Eigen::VectorXd neuron_sources(const trace::Trace& trace, NeuronId id, HeadId head, Position p, Branch branch) {
    check_head(trace, head);
    const StreamReading reading = neuron_reading(trace, id, p, branch);
    const bool parallel = trace.config().parallel;  // there the MLP does not read its own layer's attention
    if (head.layer > id.layer || (parallel && head.layer == id.layer))
        throw Error({.problem = "This head comes after the neuron",
                     .item = "L" + std::to_string(head.layer.value) + "H" + std::to_string(head.head.value),
                     .expected = parallel ? "a layer before " + std::to_string(id.layer.value)
                                          : "a layer up to " + std::to_string(id.layer.value)});
    Directions directions;
    split_reading(trace, p, reading, false, &directions);
    const at::Tensor sources = sources_of(trace, head, p, directions.attention[static_cast<std::size_t>(head.layer.value)]);
    return Eigen::Map<const Eigen::VectorXd>(sources.data_ptr<double>(), sources.size(0));
}

std::vector<NeuronScore> downstream_neurons(const trace::Trace& trace, HeadId id, Position p, std::int64_t top) {
    check_head(trace, id);
    check_position(trace, p, "position");
    const at::NoGradGuard no_grad;
    const model::ModelConfig& c = trace.config();
    at::Tensor change = wide(trace::tensor_rows(trace, {Hook::result, id.layer}, p.value, 1)[0][id.head.value]);
    std::vector<NeuronScore> scores;
    const auto through = [&](Hook norm, std::int64_t l) { return frozen_norm(trace, norm, Layer(l), p).forward(change); };
    if (c.branch_norm) change = through(Hook::ln1_post_scale, id.layer.value);
    for (std::int64_t l = id.layer.value + (c.parallel ? 1 : 0); l < c.n_layers; ++l) {
        if (l > id.layer.value && c.residual_after_norm) change = through(Hook::ln1_scale, l);
        if (c.post_norm) change = through(Hook::ln1_scale, l);
        if (c.post_norm && has_cross_attention(c)) change = through(Hook::ln_cross_scale, l);
        const at::Tensor read = norm_before_mlp(c) ? through(mlp_norm(c), l) : change;
        const at::Tensor w_in = trace::mlp_weights(*trace.model(), Layer(l)).w_in.cpu();
        const auto type = w_in.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
        const at::Tensor effect = at::mv(w_in.to(type).t(), read.to(type)).to(at::kDouble).contiguous();
        const at::Tensor pre = wide(trace::tensor_rows(trace, {Hook::mlp_pre, Layer(l)}, p.value, 1)[0]).contiguous();
        const std::vector<bool> works = working_neurons(trace, Layer(l), p);
        const InputWeights weights(trace, Layer(l), p);
        for (std::int64_t i = 0; i < effect.size(0); ++i)
            if (works[static_cast<std::size_t>(i)])
                scores.push_back(
                    {{Layer(l), Neuron(i)}, effect.data_ptr<double>()[i] * weights.of(i), pre.data_ptr<double>()[i]});
        if (c.residual_after_norm || c.post_norm) change = through(Hook::ln2_scale, l);
        if (has_convolution(c, l)) change = through(Hook::ln_conv_scale, l);
    }
    keep_best(scores, top, stronger);
    return scores;
}

namespace {

void check_next_token(const model::ModelConfig& c, std::int64_t token) {
    require_stream_unembedding(c, "A next-token neuron");
    if (token < 0 || token >= c.vocab_size)
        throw Error({.problem = "There is no such token",
                     .expected = "an id from 0 to " + std::to_string(c.vocab_size - 1),
                     .found = std::to_string(token)});
}

}  // namespace

std::vector<NeuronScore> next_token_neurons(const model::Model& model, std::int64_t token, std::int64_t top) {
    const model::ModelConfig& c = model.config();
    check_next_token(c, token);
    const at::NoGradGuard no_grad;
    const at::Tensor column = trace::unembed(model, token, 1).select(1, 0);
    std::vector<NeuronScore> scores;
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor w_out = trace::mlp_weights(model, Layer(l)).w_out;
        const at::Tensor product = wide(at::mv(w_out, column)).contiguous();
        for (std::int64_t i = 0; i < product.size(0); ++i)
            scores.push_back({{Layer(l), Neuron(i)}, product.data_ptr<double>()[i], 0});
    }
    keep_best(scores, top, larger);
    return scores;
}

namespace {

/// What every neuron adds to the token's logit, in the order of layers.
std::vector<NeuronScore> added(const trace::Trace& trace, std::int64_t token, Position p) {
    const model::ModelConfig& c = trace.config();
    std::vector<NeuronScore> all;
    if (splits_logits(c)) {
        for (const Contribution& part : attribution(trace, p, {.token = token, .neurons = true}).parts)
            if (part.component == Component::neuron) all.push_back({{Layer(part.layer), Neuron(part.index)}, part.value, 0});
        return all;
    }
    const at::Tensor column = trace::unembed(*trace.model(), token, 1).select(1, 0);
    for (std::int64_t l = 0; l < c.n_layers; ++l) {
        const at::Tensor post = wide(trace::tensor_rows(trace, {Hook::mlp_post, Layer(l)}, p.value, 1)[0]);
        const at::Tensor w_out = trace::mlp_weights(*trace.model(), Layer(l)).w_out;
        const at::Tensor product = (wide(at::mv(w_out, column)) * post).contiguous();
        for (std::int64_t i = 0; i < product.size(0); ++i)
            all.push_back({{Layer(l), Neuron(i)}, product.data_ptr<double>()[i], 0});
    }
    return all;
}

}  // namespace

std::vector<NextTokenNeuron> next_token_drivers(const trace::Trace& trace, std::int64_t token, Position p, std::int64_t top,
                                                std::int64_t heads) {
    check_position(trace, p, "position");
    check_next_token(trace.config(), token);
    const at::NoGradGuard no_grad;
    std::vector<NeuronScore> best = added(trace, token, p);
    // A neuron whose expert was not chosen here adds nothing.
    std::erase_if(best, [&](const NeuronScore& found) { return found.value == 0 && !neuron_works(trace, found.id, p); });
    keep_best(best, top, larger);
    const at::Tensor column = wide(trace::unembed(*trace.model(), token, 1).select(1, 0));
    std::vector<NextTokenNeuron> all;
    for (const NeuronScore& found : best) {
        const std::int64_t i = found.id.neuron.value;
        const Decomposition split = neuron_drivers(trace, found.id, p);
        NextTokenNeuron neuron{
            .id = found.id,
            .score = at::dot(wide(trace::mlp_weights(*trace.model(), found.id.layer).w_out[i]), column).item<double>(),
            .coefficient = wide(trace::tensor_rows(trace, {Hook::mlp_post, found.id.layer}, p.value, 1))[0][i].item<double>(),
            .adds = found.value,
            .pre = split.total,
            .heads = {}};
        for (const Contribution& part : split.parts)
            if (part.component == Component::head) neuron.heads.push_back({{Layer(part.layer), Head(part.index)}, part.value});
        std::sort(neuron.heads.begin(), neuron.heads.end(), [](const auto& a, const auto& b) {
            return std::abs(a.second) != std::abs(b.second) ? std::abs(a.second) > std::abs(b.second) : a.first < b.first;
        });
        if (std::ssize(neuron.heads) > heads) neuron.heads.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, heads)));
        all.push_back(std::move(neuron));
    }
    return all;
}

Table drivers_table(const Decomposition& whole, HeadId head, const Eigen::VectorXd& sources) {
    Table table = table_of(whole, head, sources);
    table.definitions = {{"contribution",
                          "part of the neuron's pre-activation, through the norm before the MLP at its scale in the "
                          "run; final_bias: that norm's bias through the key, and the neuron's own"}};
    return table;
}

Table downstream_table(const std::vector<NeuronScore>& neurons) {
    Table table{{"layer", "neuron", "contribution", "pre_activation"}, {}};
    table.definitions = {{"contribution", "what the head's output adds to the neuron's pre-activation by the direct path"},
                         {"pre_activation", "the whole of it"}};
    for (const NeuronScore& n : neurons) table.add({n.id.layer.value, n.id.neuron.value, n.value, n.pre});
    return table;
}

Table next_token_table(const std::vector<NeuronScore>& neurons) {
    Table table{{"layer", "neuron", "score"}, {}};
    table.definitions = {{"score", "<w_out, W_U[:, token]>"}};
    for (const NeuronScore& n : neurons) table.add({n.id.layer.value, n.id.neuron.value, n.value});
    return table;
}

Table table_of(const std::vector<NextTokenNeuron>& neurons) {
    Table table{{"layer", "neuron", "score", "coefficient", "pre_activation", "from_layer", "from_head", "contribution",
                 "logit_contribution"},
                {}};
    table.definitions = {{"score", "<w_out, W_U[:, token]>"},
                         {"coefficient", "of the neuron at the position"},
                         {"logit_contribution", "what the neuron adds to the token's logit"},
                         {"pre_activation", "what the activation function reads; gated MLPs: the gate"},
                         {"contribution", "part of the pre-activation that the head gives by the direct path"}};
    for (const NextTokenNeuron& n : neurons) {
        if (n.heads.empty()) table.add({n.id.layer.value, n.id.neuron.value, n.score, n.coefficient, n.pre, {}, {}, {}, n.adds});
        for (const auto& [head, part] : n.heads)
            table.add({n.id.layer.value, n.id.neuron.value, n.score, n.coefficient, n.pre, head.layer.value, head.head.value,
                       part, n.adds});
    }
    return table;
}

}  // namespace headlight::analyze
