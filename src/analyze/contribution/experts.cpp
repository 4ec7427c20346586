// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/contribution/experts.h"

#include "analyze/pattern/head_reader.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"

#include <ATen/core/grad_mode.h>

namespace headlight::analyze {

using model::Hook;

std::vector<Layer> layers_with_experts(const model::ModelConfig& c) {
    std::vector<Layer> layers;
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        if (model::has_experts(c, l)) layers.emplace_back(l);
    return layers;
}

ExpertUse expert_use(const trace::Trace& trace, Layer layer) {
    const model::ModelConfig& c = trace.config();
    if (layer.value < 0 || layer.value >= c.n_layers)
        throw Error({.problem = "There is no such layer",
                     .expected = "0 to " + std::to_string(c.n_layers - 1),
                     .found = std::to_string(layer.value)});
    if (!model::has_experts(c, layer.value)) {
        std::string expected;
        for (const Layer each : layers_with_experts(c))
            expected += (expected.empty() ? "layer " : ", ") + std::to_string(each.value);
        throw Error({.problem = "The MLP of this layer has no experts",
                     .item = "layer " + std::to_string(layer.value),
                     .expected = expected.empty() ? "a model with experts" : expected});
    }
    const at::NoGradGuard no_grad;
    const auto kept = [&](Hook hook) { return trace::tensor(trace, {hook, layer}); };
    return {.layer = layer,
            .weights = to_matrix(kept(Hook::experts)),
            .logits = to_matrix(kept(Hook::router)),
            .shared = c.experts.shared_gate ? to_vector(kept(Hook::shared_gate).select(1, 0)) : Vector()};
}

std::vector<bool> working_neurons(const trace::Trace& trace, Layer layer, Position p) {
    const model::ModelConfig& c = trace.config();
    std::vector<bool> works(static_cast<std::size_t>(model::mlp_width(c, layer.value)), true);
    if (!model::has_experts(c, layer.value)) return works;
    check_position(trace, p, "position");
    const Vector weights = to_vector(trace::tensor_rows(trace, {Hook::experts, layer}, p.value, 1)[0]);
    for (std::size_t i = 0; i < works.size(); ++i)
        if (const std::int64_t expert = model::expert_of(c, layer.value, static_cast<std::int64_t>(i)); expert >= 0)
            works[i] = weights[expert] != 0;
    return works;
}

bool neuron_works(const trace::Trace& trace, NeuronId id, Position p) {
    const std::int64_t expert = model::expert_of(trace.config(), id.layer.value, id.neuron.value);
    return expert < 0 || trace::tensor_rows(trace, {Hook::experts, id.layer}, p.value, 1)[0][expert].ne(0).item<bool>();
}

Table table_of(const std::vector<ExpertUse>& uses, const trace::Trace& trace) {
    Table table;
    table.columns = {"layer", "position", "token", "expert", "weight", "router_logit"};
    table.definitions = {{"weight", "what the expert's output is multiplied by; experts that are not listed were not chosen"},
                         {"router_logit", "of the expert, before the softmax"},
                         {"expert", "-1: the shared one, which every token goes through"}};
    for (const ExpertUse& use : uses) {
        const std::string name = "layer_" + std::to_string(use.layer.value);
        table.arrays.push_back(named_array(name + "_weights", use.weights));
        table.arrays.push_back(named_array(name + "_logits", use.logits));
        for (Eigen::Index p = 0; p < use.weights.rows(); ++p) {
            const std::string& token = trace.labels()[static_cast<std::size_t>(p)].text;
            for (Eigen::Index e = 0; e < use.weights.cols(); ++e)
                if (use.weights(p, e) != 0)
                    table.add({use.layer.value, std::int64_t{p}, token, std::int64_t{e}, static_cast<double>(use.weights(p, e)),
                               static_cast<double>(use.logits(p, e))});
            if (use.shared.size() > 0)
                table.add({use.layer.value, std::int64_t{p}, token, std::int64_t{-1}, static_cast<double>(use.shared[p])});
        }
    }
    return table;
}

}  // namespace headlight::analyze
