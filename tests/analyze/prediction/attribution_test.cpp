// SPDX-License-Identifier: GPL-3.0-or-later
// Splits that must close, over every family: logits, pre-activations, heads over their sources.
#include "headlight/analyze/prediction/attribution.h"
#include "headlight/analyze/contribution/drivers.h"
#include "headlight/analyze/contribution/experts.h"
#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"
#include "headlight/trace/weights.h"
#include "tests/analyze/traces.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headlight::analyze {
namespace attribution_test {

using model::Hook;

double sum_of(const Decomposition& split, Component component, std::int64_t layer = -1) {
    double sum = 0;
    for (const Contribution& part : split.parts)
        if (part.component == component && (layer < 0 || part.layer == layer)) sum += part.value;
    return sum;
}

double size_of(const Decomposition& split) {
    double size = 1e-9;
    for (const Contribution& part : split.parts) size = std::max(size, std::abs(part.value));
    return std::max(size, std::abs(split.total));
}

/// Of all layers.
std::int64_t all_neurons(const model::ModelConfig& c) {
    std::int64_t n = 0;
    for (std::int64_t l = 0; l < c.n_layers; ++l) n += model::mlp_width(c, l);
    return n;
}

TEST(Attribution, EveryComponentIsFoundByItsName) {
    for (int i = 0; i <= static_cast<int>(Component::nonlinear); ++i)
        EXPECT_EQ(component_named(name_of(static_cast<Component>(i))), static_cast<Component>(i));
    EXPECT_STREQ(name_of(Component::attn_bias), "attn_bias");
    EXPECT_STREQ(name_of(Component::final_bias), "final_bias");
    EXPECT_STREQ(name_of(Component::nonlinear), "nonlinear");
    EXPECT_EQ(component_named("head_source"), std::nullopt);
}

class EverySplit : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EverySplit, OfALogitCloses) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const AttributionOptions plain{.token = 5}, difference{.token = 5, .minus = 9},
        neurons{.token = 5, .minus = {}, .neurons = true};
    if (!c.has_unembedding || c.mlm_head || c.post_norm) {  // a norm behind every layer: no sum
        EXPECT_THROW(attribution(*trace, Position(0), plain), Error);
        return;
    }
    for (const Position p : {Position(0), Position(trace->tokens() / 2), Position(trace->tokens() - 1)}) {
        const at::Tensor logits = trace::tensor(*trace, {Hook::logits, Layer(0)})[p.value];
        const Decomposition whole = attribution(*trace, p, plain), by_neuron = attribution(*trace, p, neurons),
                            two = attribution(*trace, p, difference), other = attribution(*trace, p, {.token = 9});
        const double cap = trace->config().final_softcap, logit = logits[5].to(at::kDouble).item<double>();
        if (cap > 0) {
            EXPECT_NEAR(cap * std::tanh(whole.total / cap), logit, 1e-5) << "the sum is of the logit before the cap";
        } else {
            EXPECT_EQ(whole.total, logit);
        }
        for (const Decomposition* split : {&whole, &by_neuron, &two})
            EXPECT_NEAR(split->sum, split->total, 1e-5 * size_of(*split)) << "position " << p.value;
        ASSERT_EQ(whole.parts.size(), two.parts.size());
        for (std::size_t i = 0; i < two.parts.size(); ++i)
            EXPECT_NEAR(two.parts[i].value, whole.parts[i].value - other.parts[i].value, 1e-9 * size_of(whole));
        for (std::int64_t l = 0; l < c.n_layers; ++l)
            EXPECT_NEAR(sum_of(by_neuron, Component::neuron, l) + sum_of(by_neuron, Component::mlp_bias, l),
                        sum_of(whole, Component::mlp, l), 1e-5 * size_of(whole));
        EXPECT_EQ(std::count_if(by_neuron.parts.begin(), by_neuron.parts.end(),
                                [](const Contribution& part) { return part.component == Component::neuron; }),
                  all_neurons(c));
    }
}

TEST_P(EverySplit, OfAHeadOverItsSourcesCloses) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    if (!c.has_unembedding || c.mlm_head || c.post_norm) return;
    const Position p(trace->tokens() - 2);
    const AttributionOptions options{.token = 7};
    const Decomposition split = attribution(*trace, p, options);
    const Eigen::MatrixXd map = split.heads(c), all = all_head_sources(*trace, p, options);
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        for (std::int64_t h = 0; h < c.n_heads; ++h) {
            const Eigen::VectorXd sources = all.row(l * c.n_heads + h);
            EXPECT_NEAR(sources.sum(), map(l, h), 1e-5 * size_of(split)) << "L" << l << "H" << h;
            if (c.causal) {
                EXPECT_EQ(sources[p.value + 1], 0) << "nothing comes from the future";
            }
        }
    EXPECT_TRUE(head_sources(*trace, head_id(1, 1), p, options).isApprox(all.row(c.n_heads + 1).transpose()));
}

TEST_P(EverySplit, OfAPreActivationCloses) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    for (std::int64_t l = 0; l < c.n_layers; ++l)
        for (const std::int64_t neuron : {std::int64_t{0}, model::mlp_width(c, l) - 1})
            for (const Position p : {Position(0), Position(trace->tokens() - 1)}) {
                const NeuronId id{Layer(l), Neuron(neuron)};
                if (!neuron_works(*trace, id, p)) {
                    EXPECT_THROW(neuron_drivers(*trace, id, p), Error);
                    continue;
                }
                const Decomposition split = neuron_drivers(*trace, id, p);
                EXPECT_EQ(split.total,
                          trace::tensor(*trace, {Hook::mlp_pre, Layer(l)})[p.value][neuron].to(at::kDouble).item<double>());
                EXPECT_NEAR(split.sum, split.total, 3e-5 * size_of(split)) << "layer " << l << " neuron " << neuron;
                const HeadId head = head_id(0, c.n_heads - 1);
                if (c.parallel && l == 0) {
                    EXPECT_THROW(neuron_sources(*trace, id, head, p), Error);
                } else {
                    EXPECT_NEAR(neuron_sources(*trace, id, head, p).sum(), split.heads(c)(0, c.n_heads - 1),
                                1e-5 * size_of(split));
                }
                if (l + 1 < c.n_layers) {
                    EXPECT_TRUE(std::isnan(split.heads(c)(l + 1, 0))) << "later heads have no part";
                    EXPECT_THROW(neuron_sources(*trace, id, head_id(l + 1, 0), p), Error);
                }
                if (c.gated_mlp) {
                    const Decomposition up = neuron_drivers(*trace, id, p, Branch::up);
                    EXPECT_NEAR(up.sum, up.total, 1e-5 * size_of(up));
                } else {
                    EXPECT_THROW(neuron_drivers(*trace, id, p, Branch::up), Error);
                }
            }
}

TEST_P(EverySplit, WhatAHeadDrivesIsItsPartInTheNeuron) {
    const TracePtr trace = run_model(GetParam(), cats);
    const model::ModelConfig& c = trace->config();
    const Position p(trace->tokens() - 1);
    const HeadId head = head_id(0, 1);
    const std::vector<NeuronScore> found = downstream_neurons(*trace, head, p, 12);
    ASSERT_EQ(found.size(), 12U);
    for (const NeuronScore& each : found) {
        const Decomposition split = neuron_drivers(*trace, each.id, p);
        EXPECT_NEAR(each.value, split.heads(c)(0, 1), 1e-5 * size_of(split));
        EXPECT_EQ(each.pre, split.total);
        EXPECT_LE(std::abs(each.value), std::abs(found[0].value));
    }
}

TEST_P(EverySplit, NextTokenNeuronsWriteTheTokensDirection) {
    const TracePtr trace = run_model(GetParam(), "a");
    const model::ModelConfig& c = trace->config();
    if (!unembeds_stream(c)) {
        EXPECT_THROW(next_token_neurons(*trace->model(), 5, 3), Error);
        return;
    }
    const std::vector<NeuronScore> found = next_token_neurons(*trace->model(), 5, all_neurons(c));
    ASSERT_EQ(found.size(), static_cast<std::size_t>(all_neurons(c)));
    const at::Tensor column = trace::unembed(*trace->model()).select(1, 5);
    for (const NeuronScore& each : {found.front(), found.back()}) {
        const at::Tensor value = trace::mlp_weights(*trace->model(), each.id.layer).w_out[each.id.neuron.value];
        EXPECT_NEAR(each.value, at::dot(value, column).item<float>(), 1e-4 * std::max(1.0, std::abs(each.value)));
    }
    EXPECT_GE(found.front().value, found.back().value);

    const std::vector<NextTokenNeuron> driven = next_token_drivers(*trace, 5, Position(0), 2, c.n_layers * c.n_heads);
    ASSERT_EQ(driven.size(), 2U);
    EXPECT_GE(driven[0].adds, driven[1].adds);
    if (splits_logits(c)) {
        const std::vector<Contribution> largest = largest_neurons(*trace, Position(0), {.token = 5}, {}, all_neurons(c));
        const auto most = std::ranges::max_element(largest, {}, &Contribution::value);
        EXPECT_EQ(driven[0].adds, most->value) << "the first one raises the token most, whatever its value's direction";
        EXPECT_GE(std::abs(largest[0].value), std::abs(largest[1].value));
        const std::vector<double> layer = neuron_parts(*trace, Position(0), {.token = 5}, Layer(1));
        ASSERT_EQ(std::ssize(layer), model::mlp_width(c, 1));
        for (const Contribution& part : largest_neurons(*trace, Position(0), {.token = 5}, Layer(1), 3)) {
            EXPECT_EQ(part.layer, 1);
            EXPECT_EQ(part.value, layer[static_cast<std::size_t>(part.index)]);
        }
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const auto same_neuron = std::ranges::find(found, driven[i].id, &NeuronScore::id);
        EXPECT_NEAR(driven[i].score, same_neuron->value, 1e-4 * std::max(1.0, std::abs(same_neuron->value)));
        const Decomposition split = neuron_drivers(*trace, driven[i].id, Position(0));
        EXPECT_EQ(driven[i].pre, split.total);
        double heads = 0, same = 0;
        for (const auto& [head, part] : driven[i].heads) heads += part;
        for (const Contribution& part : split.parts) same += part.component == Component::head ? part.value : 0;
        EXPECT_NEAR(heads, same, 1e-9 * size_of(split));
        for (std::size_t h = 1; h < driven[i].heads.size(); ++h)
            EXPECT_GE(std::abs(driven[i].heads[h - 1].second), std::abs(driven[i].heads[h].second));
        const at::Tensor post = trace::tensor(*trace, {Hook::mlp_post, driven[i].id.layer});
        EXPECT_EQ(driven[i].coefficient, post[0][driven[i].id.neuron.value].to(at::kDouble).item<double>());
    }
    EXPECT_LE(next_token_drivers(*trace, 5, Position(0), 1, 1).front().heads.size(), 1U);
    EXPECT_THROW(next_token_drivers(*trace, 5, Position(trace->tokens()), 1, 1), Error);
}

INSTANTIATE_TEST_SUITE_P(Models, EverySplit, testing::ValuesIn(model_folders()), model_name);

TEST(Attribution, WorksOnOneTokenAndNamesWhatIsNotThere) {
    const TracePtr trace = built_in("a");
    const Decomposition split = attribution(*trace, Position(0), {.token = 11});
    EXPECT_NEAR(split.sum, split.total, 1e-5 * size_of(split));
    EXPECT_THROW(attribution(*trace, Position(trace->tokens()), {.token = 11}), Error);
    EXPECT_THROW(attribution(*trace, Position(-1), {.token = 11}), Error);
    EXPECT_THROW(attribution(*trace, Position(0), {.token = trace->config().vocab_size}), Error);
    EXPECT_THROW(attribution(*trace, Position(0), {.token = 1, .minus = -4}), Error);
    EXPECT_THROW(attribution(*trace, Position(0), {.token = 1, .minus = 1}), Error) << "a difference of 0";
    EXPECT_THROW(neuron_drivers(*trace, {Layer(0), Neuron(trace->config().d_mlp)}, Position(0)), Error);
}

}  // namespace attribution_test
}  // namespace headlight::analyze
