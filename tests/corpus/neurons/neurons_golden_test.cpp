// SPDX-License-Identifier: GPL-3.0-or-later
// Thirty sentences through the built-in model against Hugging Face transformers, SciPy and scikit-learn
// (tests/golden/make_neurons_golden.py).
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/distances/head_map.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neurons.h"
#include "tests/corpus/runs.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headlight::corpus {
namespace neurons_golden_test {

const nlohmann::json& golden() {
    static const nlohmann::json json = golden_json("corpus/neurons.json");
    return json;
}

const Runs& runs() {
    static const Runs all = [] {
        Runs made(built_in_model());
        made.run_all(golden().at("texts").get<std::vector<std::string>>());
        return made;
    }();
    return all;
}

TEST(NeuronsGolden, TriggersAreThoseOfTheReference) {
    const Neurons neurons = runs().filled(Neurons(runs().config()));
    EXPECT_EQ(neurons.tokens(), golden().at("queries").get<std::int64_t>());
    for (std::int64_t i = 0; i < runs().size(); ++i)
        ASSERT_EQ(nlohmann::json(runs().trace(i).encoding().ids), golden().at("ids")[static_cast<std::size_t>(i)]);
    std::int64_t compared = 0;
    for (const nlohmann::json& each : golden().at("neurons")) {
        const Layer layer(each.at("layer").get<std::int64_t>());
        const Neuron neuron(each.at("neuron").get<std::int64_t>());
        EXPECT_NEAR(static_cast<double>(neurons.active(layer, neuron)), each.at("active").get<double>(), 1);
        for (const bool larger : {true, false}) {
            const std::vector<Trigger> found = larger ? neurons.largest(layer, neuron) : neurons.smallest(layer, neuron);
            const nlohmann::json& expected = each.at(larger ? "largest" : "smallest");
            ASSERT_GE(found.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i, ++compared) {
                EXPECT_NEAR(static_cast<double>(found[i].value), expected[i][0].get<double>(), 2e-5);
                EXPECT_EQ(nlohmann::json({found[i].text, found[i].position, found[i].next}),
                          nlohmann::json({expected[i][1], expected[i][2], expected[i][3]}))
                    << "L" << layer.value << " neuron " << neuron.value << " trigger " << i;
            }
        }
    }
    EXPECT_GT(compared, 250);

    const ValueAgreement values = value_agreement(neurons, *runs().model());
    double surest = 0;
    for (std::size_t l = 0; l < values.layers.size(); ++l) {
        const nlohmann::json& expected = golden().at("values")[l];
        const LayerValues& found = values.layers[l];
        // A coefficient near zero, or two triggers near each other, may fall on the other side in float32.
        EXPECT_NEAR(static_cast<double>(found.triggered), expected.at("triggered").get<double>(), 1) << l;
        EXPECT_NEAR(static_cast<double>(found.agreeing), expected.at("agreeing").get<double>(), 1) << l;
        EXPECT_NEAR(found.rank.median, expected.at("rank_median").get<double>(), 10) << l;
        surest = std::max(surest, expected.at("surest").get<double>());
    }
    EXPECT_NEAR(values.surest.front().probability, surest, 1e-6);
}

TEST(NeuronsGolden, LayersComeToThePredictionAsInTheReference) {
    const Agreement agreement = runs().filled(Agreement(runs().config(), {.examples = 1000}));
    std::vector<std::int64_t> text_of_chunk(static_cast<std::size_t>(runs().size()));
    std::iota(text_of_chunk.begin(), text_of_chunk.end(), 0);
    const std::vector<LayerAgreement> layers = layer_agreement(agreement, text_of_chunk);
    for (std::size_t l = 0; l < layers.size(); ++l) {
        const nlohmann::json& expected = golden().at("agreement")[l];
        const double one = 1.001 / expected.at("tokens").get<double>();  // a tie may fall on the other side in float32
        const auto part = [&](analyze::Breakdown of) { return layers[l].parts[static_cast<std::size_t>(of)].mean; };
        EXPECT_NEAR(part(analyze::Breakdown::agreement), expected.at("agreement").get<double>(), one) << l;
        EXPECT_NEAR(part(analyze::Breakdown::residual), expected.at("residual").get<double>(), one) << l;
        EXPECT_NEAR(part(analyze::Breakdown::ffn), expected.at("ffn").get<double>(), one) << l;
        EXPECT_NEAR(part(analyze::Breakdown::composition), expected.at("composition").get<double>(), one) << l;
        EXPECT_NEAR(layers[l].zero_agreement.mean, expected.at("zero_agreement").get<double>(), one) << l;
        EXPECT_NEAR(layers[l].residual_final.mean, expected.at("residual_final").get<double>(), one) << l;
        EXPECT_NEAR(layers[l].active.mean, expected.at("active").get<double>(), 1e-5) << l;
        EXPECT_NEAR(layers[l].residual_probability.mean, expected.at("residual_probability").get<double>(), 1e-5) << l;
    }
}

TEST(HeadDistancesGolden, EveryPairIsThatOfScipyAndTheMapNoWorseThanScikitLearns) {
    const HeadDistances distances = runs().filled(HeadDistances(runs().config(), {.queries = 0}));
    const Eigen::MatrixXd means = distances.means();
    const nlohmann::json& expected = golden().at("divergences");
    std::size_t at = 0;
    for (Eigen::Index a = 0; a < means.rows(); ++a)
        for (Eigen::Index b = a + 1; b < means.rows(); ++b, ++at) {
            EXPECT_NEAR(means(a, b), expected.at(at).get<double>(), 1e-6) << a << " " << b;
        }
    EXPECT_EQ(at, expected.size());
    // The best of twenty random starts there.
    EXPECT_LT(metric_scaling(means).stress, 1.01 * golden().at("stress").get<double>());
    const std::vector<GroupMerge> merges = average_linkage(means);
    for (std::size_t i = 0; i < merges.size(); ++i)
        EXPECT_NEAR(merges[i].distance, golden().at("merges")[i].get<double>(), 1e-6) << i;

    // Eight queries a text are an estimate, and most pairs are within two of its standard errors.
    const HeadDistances drawn = runs().filled(HeadDistances(runs().config(), {.queries = 8, .seed = 1}));
    EXPECT_LT(drawn.drawn(), distances.drawn());
    const Eigen::ArrayXXd off = (drawn.means() - means).array().abs(), errors = drawn.standard_errors().array();
    EXPECT_GT((off <= 2 * errors + 1e-9).cast<double>().mean(), 0.9);
    EXPECT_GT(off.maxCoeff(), 1e-4);
}

}  // namespace neurons_golden_test
}  // namespace headlight::corpus
