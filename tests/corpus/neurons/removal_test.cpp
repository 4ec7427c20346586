// SPDX-License-Identifier: GPL-3.0-or-later
// What the removal of a token does to a coefficient: by hand, and against Hugging Face transformers.
#include "headlight/corpus/neurons/removal.h"

#include "headlight/base/error.h"
#include "headlight/corpus/store/chunks.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/corpus/store/text_store.h"
#include "tests/corpus/runs.h"
#include "tests/support/hand_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headlight::corpus {
namespace removal_test_cases {

/// A store of texts, a line each, and the neurons of a model that has run them. A hand-made model has no file left to hash.
struct Made {
    test::TempFolder folder;
    Runs runs;
    Manifest manifest;
    Neurons neurons;
    Made(std::shared_ptr<const model::Model> model, std::shared_ptr<const text::Tokenizer> tokenizer,
         const std::vector<std::string>& texts)
        : runs(std::move(model), std::move(tokenizer)), neurons(runs.config()) {
        std::string lines;
        for (const std::string& text : texts) lines += text + "\n";
        manifest.options.context = 64;
        manifest.options.stride = Chunker(*runs.tokenizer(), 64, 0).stride();
        add_texts(folder / "store", manifest, *runs.tokenizer(), {.from = folder.write("texts.txt", lines)});
        runs.run_all(texts);
        runs.add_all(neurons);
    }
    TextStore texts() const { return TextStore(folder / "store", manifest); }
    std::vector<NeuronRemoval> removals(const std::vector<analyze::NeuronId>& ids, const RemovalOptions& options = {}) const {
        TextStore store = texts();
        return removal_test(neurons, store, runs.model(), runs.tokenizer(), ids, options);
    }
};

// Keys detect one token each and attention adds nothing: only the last token counts.
TEST(Removal, OfADetectorOfOneTokenIsThatToken) {
    analyze::HandModel hand;
    hand.v = analyze::HandModel::zero;
    hand.mlp = analyze::HandModel::identity;
    const Made made(hand.load(), analyze::letters(), {"a b c d e f", "d c", "e a c", "c"});
    const auto [id, triggers] = made.removals({{Layer(0), Neuron(3)}}).front();  // letter c
    EXPECT_EQ(id, (analyze::NeuronId{Layer(0), Neuron(3)}));
    ASSERT_EQ(triggers.size(), 3u) << "behind the first token of a text";
    for (const TriggerRemoval& of : triggers) {
        EXPECT_NEAR(of.whole, static_cast<double>(of.trigger.value), 1e-6);
        EXPECT_EQ(of.position[0], 0);
        EXPECT_EQ(of.position[1], of.trigger.position);
        EXPECT_EQ(of.position[2], of.trigger.position == 2 ? 1 : -1) << "between the first and the last";
        EXPECT_NEAR(of.change(Removed::first), 0, 1e-6);
        EXPECT_NEAR(of.change(Removed::last), -1, 1e-6) << "another letter stands last";
        EXPECT_EQ(std::isnan(of.change(Removed::random)), of.trigger.position == 1);
    }
    const std::vector<LayerRemoval> layers = removal_by_layer(made.removals({{Layer(0), Neuron(3)}, {Layer(0), Neuron(4)}}));
    ASSERT_EQ(layers.size(), 1u);
    EXPECT_EQ(layers[0].neurons, 2);
    EXPECT_EQ(layers[0].triggers, 4);
    EXPECT_NEAR(layers[0].change[1].mean, -1, 1e-6);
    EXPECT_TRUE(std::isnan(layers[0].change[1].high)) << "two neurons are too few for an interval";
}

TEST(Removal, ChangesAreThoseOfTheReference) {
    const nlohmann::json expected = golden_json("corpus/removal.json");
    const Made made(built_in().model, built_in().tokenizer, expected.at("texts").get<std::vector<std::string>>());
    std::vector<analyze::NeuronId> ids;
    for (const nlohmann::json& each : expected.at("neurons"))
        ids.push_back({Layer(each.at("layer").get<std::int64_t>()), Neuron(each.at("neuron").get<std::int64_t>())});
    const RemovalOptions options{.triggers = 6, .seed = 5};
    const std::vector<NeuronRemoval> found = made.removals(ids, options);
    std::int64_t compared = 0;
    for (std::size_t n = 0; n < ids.size(); ++n) {
        const nlohmann::json& triggers = expected.at("neurons")[n].at("triggers");
        ASSERT_EQ(found[n].triggers.size(), triggers.size());
        for (std::size_t t = 0; t < triggers.size(); ++t) {
            const TriggerRemoval& of = found[n].triggers[t];
            EXPECT_EQ(of.trigger.text, triggers[t].at("text"));
            EXPECT_EQ(of.trigger.position, triggers[t].at("position"));
            EXPECT_NEAR(of.whole, triggers[t].at("whole").get<double>(), 2e-5);
            // [position] the coefficient without that token: the reference knows every removal, and draws none.
            const nlohmann::json& without = triggers[t].at("without");
            if (of.trigger.position == 1) {
                EXPECT_EQ(of.position, (std::array<std::int32_t, kRemoved>{-1, -1, -1})) << "nothing would be left";
                continue;
            }
            EXPECT_EQ(of.position[0], 1) << "behind <s>";
            EXPECT_EQ(of.position[1], of.trigger.position);
            for (std::size_t r = 0; r < kRemoved; ++r, ++compared) {
                if (of.position[r] < 0) continue;
                const nlohmann::json& left = without.at(static_cast<std::size_t>(of.position[r]));
                EXPECT_NEAR(of.left[r], left.get<double>(), 2e-5) << "neuron " << n << " trigger " << t << " removed " << r;
                EXPECT_NEAR(of.change(removed_tokens[r].value), left.get<double>() / of.whole - 1, 1e-4);
            }
            if (of.trigger.position > 2) {
                EXPECT_GT(of.position[2], 1);
                EXPECT_LT(of.position[2], of.trigger.position);
            }
        }
    }
    EXPECT_GT(compared, 60);
    TextStore texts = made.texts();
    const analyze::Table table = table_of(found.front(), texts);
    const auto& row = table.rows.front();
    EXPECT_EQ(std::get<std::string>(row[3]), "first");
    const std::string& text = texts.text(found[0].triggers[0].trigger.text).text;
    EXPECT_TRUE(text.starts_with(std::get<std::string>(row[5])) && !std::get<std::string>(row[5]).empty());
}

TEST(Removal, DrawsNeuronsThatHaveATrigger) {
    analyze::HandModel hand;
    hand.v = analyze::HandModel::zero;
    hand.mlp = analyze::HandModel::identity;
    const Made made(hand.load(), analyze::letters(), {"a b c d e f"});
    const Neurons& neurons = made.neurons;
    EXPECT_EQ(drawn_neurons(neurons, 100, 0).size(), 5u) << "b to f";
    const std::vector<analyze::NeuronId> three = drawn_neurons(neurons, 3, 1);
    EXPECT_EQ(three.size(), 3u);
    EXPECT_TRUE(std::ranges::is_sorted(three));
    EXPECT_EQ(three, drawn_neurons(neurons, 3, 1));
    TextStore texts = made.texts();
    const auto other = model::Model::load(built_in_model());
    EXPECT_THROW(removal_test(neurons, texts, other, analyze::letters(), three), Error);
}

}  // namespace removal_test_cases
}  // namespace headlight::corpus
