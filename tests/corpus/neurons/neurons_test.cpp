// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/neurons/neurons.h"

#include "headlight/corpus/neurons/neuron_table.h"

#include "headlight/base/error.h"
#include "tests/corpus/runs.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

namespace headlight::corpus {
namespace {

const Runs& short_texts() {
    static const Runs runs = [] {
        Runs made(built_in_model());
        made.run_all({"The old doctor asked the nurse to wait.", "She was late, and he was not.", "No.",
                      "The old doctor was late.", "The old doctor asked the nurse to wait.", "It rained all night on the sea.",
                      "Where is the key of the house?", "He gave her the letter, and she read it twice before she spoke."});
        return made;
    }();
    return runs;
}

/// [text][position] coefficients of a neuron, from position 1 on; 0 for the first.
std::vector<std::vector<float>> coefficients(const Runs& runs, std::int64_t layer, std::int64_t neuron) {
    std::vector<std::vector<float>> all;
    for (std::int64_t i = 0; i < runs.size(); ++i) {
        const at::Tensor m = trace::tensor(runs.trace(i), {model::Hook::mlp_post, Layer(layer)}).select(1, neuron).contiguous();
        all.emplace_back(m.data_ptr<float>(), m.data_ptr<float>() + m.numel());
        all.back()[0] = 0;
    }
    return all;
}

TEST(Neurons, TriggersAndHistogramsAreThoseOfBruteForce) {
    const Runs& runs = short_texts();
    const Neurons neurons = runs.filled(Neurons(runs.config(), {.triggers = 3}));
    EXPECT_EQ(neurons.texts(), runs.size());
    for (const std::int64_t layer : {0, 5})
        for (const std::int64_t neuron : {0, 17, 333, 1023}) {
            const auto m = coefficients(runs, layer, neuron);
            std::vector<Trigger> best, worst;
            std::vector<std::int32_t> histogram(kCoefficientBins);
            std::int64_t active = 0;
            for (std::size_t text = 0; text < m.size(); ++text) {
                const auto high = std::ranges::max_element(m[text]), low = std::ranges::min_element(m[text]);
                const auto& ids = runs.trace(static_cast<std::int64_t>(text)).encoding().ids;
                const auto trigger = [&](auto at) {
                    const auto p = static_cast<std::size_t>(at - m[text].begin());
                    return Trigger{*at, static_cast<std::int32_t>(text), static_cast<std::int32_t>(p),
                                   p + 1 < ids.size() ? static_cast<std::int32_t>(ids[p + 1]) : -1};
                };
                if (*high > 0) best.push_back(trigger(high));
                if (*low < 0) worst.push_back(trigger(low));
                for (std::size_t p = 1; p < m[text].size(); ++p) {
                    ++histogram[static_cast<std::size_t>(coefficient_bin(m[text][p]))];
                    active += m[text][p] > 0;
                }
            }
            // Stable: of equal values the earlier text. Text 4 repeats text 0.
            std::ranges::stable_sort(best, [](const Trigger& a, const Trigger& b) { return a.value > b.value; });
            std::ranges::stable_sort(worst, [](const Trigger& a, const Trigger& b) { return a.value < b.value; });
            best.resize(std::min<std::size_t>(best.size(), 3));
            worst.resize(std::min<std::size_t>(worst.size(), 3));
            EXPECT_EQ(neurons.largest(Layer(layer), Neuron(neuron)), best) << layer << " " << neuron;
            EXPECT_EQ(neurons.smallest(Layer(layer), Neuron(neuron)), worst) << layer << " " << neuron;
            EXPECT_TRUE(std::ranges::equal(neurons.histogram(Layer(layer), Neuron(neuron)), histogram)) << layer << " " << neuron;
            EXPECT_EQ(neurons.active(Layer(layer), Neuron(neuron)), active);
        }
}

TEST(Neurons, AreTheSameBytesInAnyOrderAndAnyParts) {
    expect_the_same_bytes_in_any_order(short_texts(), Neurons(short_texts().config(), {.triggers = 3, .samples = 2, .seed = 4}));
}

TEST(Neurons, SamplesAreTokensOfTheirLevelAndDifferFromNeuronToNeuron) {
    const Runs& runs = short_texts();
    std::map<std::pair<std::int32_t, std::int32_t>, int> drawn;  // of all neurons and seeds, level of m just below zero
    std::int64_t kept = 0, tokens = 0;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const Neurons neurons = runs.filled(Neurons(runs.config(), {.triggers = 1, .samples = 4, .seed = seed}));
        tokens = neurons.tokens();
        for (std::int64_t n = 0; n < neurons.width(Layer(2)); ++n) {
            const auto m = coefficients(runs, 2, n);
            const auto histogram = neurons.histogram(Layer(2), Neuron(n));
            for (std::int64_t level = 0; level < kActivityLevels; ++level) {
                const std::vector<Trigger> samples = neurons.samples(Layer(2), Neuron(n), level);
                std::int64_t there = 0;
                for (std::int64_t bin = level * kBinsOfLevel; bin < (level + 1) * kBinsOfLevel; ++bin)
                    there += histogram[static_cast<std::size_t>(bin)];
                ASSERT_EQ(std::ssize(samples), std::min<std::int64_t>(4, there));
                std::set<std::pair<std::int32_t, std::int32_t>> places;
                for (const Trigger& s : samples) {
                    ASSERT_EQ(coefficient_bin(s.value) / kBinsOfLevel, level);
                    ASSERT_EQ(s.value, m[static_cast<std::size_t>(s.text)][static_cast<std::size_t>(s.position)]);
                    places.insert({s.text, s.position});
                    ++drawn[{s.text, s.position}];
                    ++kept;
                }
                ASSERT_EQ(places.size(), samples.size());
            }
            if (seed > 0 && n > 50) break;  // one seed over all neurons, and some neurons over the others
        }
    }
    // Levels have different tokens, so uniform it is only in tendency: no token is drawn three times its share, none never.
    EXPECT_EQ(std::ssize(drawn), tokens);
    for (const auto& [place, times] : drawn)
        EXPECT_LT(static_cast<double>(times), 3.0 * static_cast<double>(kept) / static_cast<double>(tokens));
}

TEST(Neurons, WhatAnEarlierChunkCountedIsContextAlone) {
    const Runs& runs = short_texts();
    Neurons all(runs.config()), behind(runs.config());
    runs.add(all, 0);
    runs.add(behind, 0, 5);
    const std::int64_t tokens = runs.trace(0).tokens();
    EXPECT_EQ(all.tokens(), tokens - 1);
    EXPECT_EQ(behind.tokens(), tokens - 5);
    for (std::int64_t n = 0; n < 100; ++n)
        for (const Trigger& trigger : behind.largest(Layer(1), Neuron(n))) EXPECT_GE(trigger.position, 5);
}

TEST(CoefficientBins, HoldEveryFloatWithinANinth) {
    EXPECT_EQ(coefficient_bin(0.0F), 0);
    EXPECT_EQ(coefficient_bin(-0.0F), 0);
    EXPECT_EQ(coefficient_bin(1e-30F), 64);
    EXPECT_EQ(coefficient_bin(1e30F), 127);
    EXPECT_EQ(coefficient_bin(-1e30F), 63);
    std::int64_t before = 64;
    for (float m = 1.25F / 256; m < 224; m *= 1.001F) {
        const std::int64_t bin = coefficient_bin(m);
        EXPECT_GE(bin, before);
        before = bin;
        EXPECT_NEAR(coefficient_of(bin) / static_cast<double>(m), 1, 1.0 / 9 + 1e-6) << m;
        EXPECT_EQ(coefficient_bin(-m), bin - 64);
        EXPECT_EQ(coefficient_of(bin - 64), -coefficient_of(bin));
    }
    EXPECT_EQ(before, 126);
    for (std::int64_t level = 0; level < kActivityLevels; ++level) {
        const auto [from, to] = level_range(level);
        for (const std::int64_t bin : {level * kBinsOfLevel + 1, level * kBinsOfLevel + 6}) {
            EXPECT_LT(from, coefficient_of(bin)) << level;
            EXPECT_GT(to, coefficient_of(bin)) << level;
        }
        EXPECT_LT(from, to);
    }
}

TEST(Neurons, ATableHasTriggersOfBothSignsAndSamplesFromHighToLow) {
    const Runs& runs = short_texts();
    const Neurons neurons = runs.filled(Neurons(runs.config(), {.triggers = 3}));
    const analyze::Table table = neuron_table(neurons, Layer(3), Neuron(40), [&](const Trigger& t) {
        return TriggerContext{.text = "text " + std::to_string(t.text), .before = "", .token = "", .next = ""};
    });
    const auto text = [&](std::size_t row, std::size_t column) { return std::get<std::string>(table.rows.at(row).at(column)); };
    EXPECT_EQ(text(0, 0), "largest");
    EXPECT_EQ(text(0, 8), "text " + std::to_string(neurons.largest(Layer(3), Neuron(40))[0].text));
    EXPECT_EQ(text(3, 0), "smallest");
    EXPECT_EQ(text(6, 0), "sample");
    double last = std::numeric_limits<double>::infinity();  // of the level before
    for (std::size_t row = 6; row < table.rows.size(); ++row) {
        const double from = std::get<double>(table.rows[row][2]), to = std::get<double>(table.rows[row][3]),
                     m = std::get<double>(table.rows[row][4]);
        EXPECT_LE(from, m);
        EXPECT_GE(to, m);
        EXPECT_LE(to, last);
        last = std::max(to, from);
    }
    std::int64_t tokens = 0;
    for (const std::int64_t count : table.arrays.at(0).integers) tokens += count;
    EXPECT_EQ(tokens, neurons.tokens());
}

TEST(Neurons, ErrorsNameWhatThereIs) {
    Neurons neurons(short_texts().config());
    EXPECT_THROW(neurons.largest(Layer(6), Neuron(0)), Error);
    EXPECT_THROW(neurons.largest(Layer(0), Neuron(1024)), Error);
    EXPECT_THROW(neurons.samples(Layer(0), Neuron(0), 16), Error);
    EXPECT_THROW(Neurons(short_texts().config(), {.triggers = 256}), Error);
}

}  // namespace
}  // namespace headlight::corpus
