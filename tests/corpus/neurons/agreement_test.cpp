// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/agreement.h"

#include "headlight/base/error.h"
#include "tests/corpus/runs.h"
#include "tests/support/hand_model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace headlight::corpus {
namespace {

/// Keys detect one token each, values are rows of the unembedding: neuron t fires at token t alone and says t + 1. Attention adds
/// nothing.
std::shared_ptr<const model::Model> detectors() {
    analyze::HandModel hand;
    hand.v = analyze::HandModel::zero;
    hand.mlp = analyze::HandModel::identity;
    hand.down = [](std::int64_t r, std::int64_t c) { return c == (r + 1) % 12 ? 1.0F : 0.0F; };
    return hand.load();
}

TEST(Agreement, OfDetectorsWhoseValuesAreTheNextTokenIsComplete) {
    Runs runs(detectors(), analyze::letters());
    runs.run_all({"a b c d e f", "e f g h i j k", "b c d"});
    const Neurons neurons = runs.filled(Neurons(runs.config()));
    const Agreement agreement = runs.filled(Agreement(runs.config(), {.examples = 100}));

    // Letter b is token 2. It triggers its neuron alone, in the texts that have it behind their first token.
    const std::vector<Trigger> triggers = neurons.largest(Layer(0), Neuron(2));
    ASSERT_EQ(triggers.size(), 1u);
    EXPECT_EQ(triggers[0].text, 0);
    EXPECT_EQ(triggers[0].position, 1);
    EXPECT_EQ(triggers[0].next, 3);
    const double x = 1 / std::sqrt(1.0 / 12 + 1e-6);  // a one-hot vector behind the norm
    EXPECT_NEAR(triggers[0].value, x * x / (1 + std::exp(-x)), 1e-5) << "x silu(x)";
    // Letter k ends the only text with it: a trigger without a next token.
    ASSERT_EQ(neurons.largest(Layer(0), Neuron(11)).size(), 1u);
    EXPECT_EQ(neurons.largest(Layer(0), Neuron(11))[0].next, -1);
    EXPECT_TRUE(neurons.largest(Layer(0), Neuron(1)).empty()) << "letter a stands first, which is left out";

    const ValueAgreement values = value_agreement(neurons, *runs.model());
    ASSERT_EQ(values.layers.size(), 1u);
    EXPECT_EQ(values.layers[0].triggered, 9) << "b to j";
    EXPECT_EQ(values.layers[0].rate().mean, 1);
    EXPECT_EQ(values.layers[0].rank.highest, 0);
    for (const SureValue& value : values.surest) EXPECT_EQ(value.followed, value.triggers);

    const LayerAgreement layer = layer_agreement(agreement, {0, 1, 2}).at(0);
    EXPECT_EQ(layer.zero_agreement.mean, 0);
    EXPECT_NEAR(layer.active.mean, 1.0 / 12, 1e-12) << "one detector fires";
    EXPECT_EQ(layer.parts[static_cast<std::size_t>(analyze::Breakdown::ffn)].mean, 1) << "r says the token itself, y the next";
    EXPECT_EQ(layer.residual_final.mean, 0);
}

TEST(Agreement, FindsTheTextsThatBreakTheRule) {
    Runs runs(detectors(), analyze::letters());
    runs.run_all({"a b c", "a c b", "a d a"});
    const Neurons neurons = runs.filled(Neurons(runs.config()));
    // b -> c and c -> b, d -> a: b's first trigger is in text 0, c's in text 1 (in text 0 it has no next token), d's in text 2.
    const LayerValues layer = value_agreement(neurons, *runs.model()).layers.at(0);
    EXPECT_EQ(layer.triggered, 3);
    EXPECT_EQ(layer.agreeing, 1);
    EXPECT_EQ(layer.rank.lowest, 0);
    EXPECT_GT(layer.rank.highest, 0);
    // b agrees. All values are equally sure, so the three are spread over tenths by their order.
    std::int64_t triggered = 0, agreeing = 0;
    for (const ProbabilityTenth& tenth : value_agreement(neurons, *runs.model()).by_probability) {
        triggered += tenth.triggered;
        agreeing += tenth.agreeing;
        EXPECT_TRUE(tenth.triggered == 0 || tenth.lowest <= tenth.highest);
    }
    EXPECT_EQ(triggered, 3);
    EXPECT_EQ(agreeing, 1);
    EXPECT_THROW(value_agreement(neurons, *model::Model::load(built_in_model())), Error);
}

const Runs& sentences() {
    static const Runs runs = [] {
        Runs made(built_in_model());
        made.run_all({"The old doctor asked the nurse to wait.", "She was late, and he was not.",
                      "It rained all night on the sea, and the wind was cold.", "He went home.", "The letter came late.",
                      "She read it twice."});
        return made;
    }();
    return runs;
}

TEST(Agreement, IntervalsAreOverTextsAndNotOverTheirChunks) {
    const Runs& runs = sentences();
    const Agreement agreement = runs.filled(Agreement(runs.config(), {.examples = 100}));
    // Six chunks of five texts are enough for an interval, six of four texts are not.
    const LayerAgreement five = layer_agreement(agreement, {0, 0, 1, 2, 3, 4}).at(2);
    EXPECT_LT(five.active.low, five.active.mean);
    EXPECT_GT(five.active.high, five.active.mean);
    EXPECT_TRUE(std::isnan(layer_agreement(agreement, {0, 0, 1, 1, 2, 3}).at(2).active.low));
    EXPECT_THROW(layer_agreement(agreement, {0, 1}), Error);
}

TEST(Agreement, AtAllTokensIsTheRefinementOfTheTexts) {
    const Runs& runs = sentences();
    const Agreement agreement = runs.filled(Agreement(runs.config(), {.examples = 100}));
    std::vector<std::shared_ptr<const trace::Trace>> traces;
    for (std::int64_t i = 0; i < runs.size(); ++i) traces.push_back(runs.shared(i));
    const analyze::Refinement expected = analyze::refinement(traces);
    const analyze::Refinement all = analyze::refinement(traces, {.all_memories = true});
    const std::vector<LayerAgreement> layers = layer_agreement(agreement, {0, 1, 2, 3, 4, 5});
    ASSERT_EQ(std::ssize(agreement.examples()), expected.tokens);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const analyze::LayerRefinement& e = expected.layers[l];
        EXPECT_NEAR(layers[l].active.mean, e.active, 1e-9);
        EXPECT_NEAR(layers[l].zero_agreement.mean, e.zero_agreement, 1e-9);
        EXPECT_NEAR(layers[l].zero_agreement_any.mean, all.layers[l].zero_agreement, 1e-9);
        EXPECT_NEAR(layers[l].residual_final.mean, e.residual_final, 1e-9);
        EXPECT_NEAR(layers[l].residual_probability.mean, e.residual_probability, 1e-5);
        EXPECT_NEAR(layers[l].residual_probability_box.median, e.residual_probability_median, 1e-5);
        const double parts[] = {e.agreement, e.residual, e.ffn, e.composition};
        double sum = 0;
        for (std::size_t part = 0; part < 4; ++part) {
            EXPECT_NEAR(layers[l].parts[part].mean, parts[part], 1e-9);
            sum += layers[l].parts[part].mean;
        }
        EXPECT_NEAR(sum, 1, 1e-12);
        EXPECT_LE(layers[l].active.low, layers[l].active.mean);
        EXPECT_GE(layers[l].active.high, layers[l].active.mean);
    }
    for (std::int64_t i = 0; i < std::ssize(expected.last_layer); ++i) {
        const analyze::LastLayerChange& change = expected.last_layer[static_cast<std::size_t>(i)];
        const auto at = std::ranges::find_if(agreement.examples(), [&](const AgreementExample& e) {
            return e.text == change.text && e.position == change.position;
        });
        ASSERT_NE(at, agreement.examples().end());
        EXPECT_EQ(at->layers.back().before, change.before);
        EXPECT_EQ(at->final(), change.after);
    }
}

TEST(Agreement, IsTheSameBytesInAnyOrderAndAnyParts) {
    expect_the_same_bytes_in_any_order(sentences(), Agreement(sentences().config(), {.examples = 3, .seed = 8}));
}

TEST(Agreement, RefusesModelsWhoseStreamIsNotReadByTheUnembedding) {
    model::ModelConfig bert;
    bert.mlm_head = true;
    EXPECT_THROW(Agreement{bert}, Error);
    bert.mlm_head = bert.has_unembedding = false;
    EXPECT_THROW(Agreement{bert}, Error);
}

}  // namespace
}  // namespace headlight::corpus
