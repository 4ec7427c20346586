// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/bench.h"
#include "headlight/corpus/probe/linear_probe.h"

#include <cmath>
#include <random>
#include <span>

namespace headlight::bench {
namespace {

constexpr std::int64_t kWords = 25'000, kProbeWidth = 768, kProbeClasses = 17, kProbeLayers = 13, kTypes = 4'000;

/// States of words like those of a stream: word types with frequencies after Zipf, each mostly of one class, whose vectors fade
/// with depth while a context grows that knows the class; variances of the features fall as a power, and two are a hundred
/// times as large as the others.
struct Words {
    corpus::ProbeRows states;
    std::vector<std::int32_t> labels;
};

Words words_of_layer(std::int64_t layer, std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::mt19937 fixed(7);  // the types are those of every layer and part
    std::vector<float> vectors(static_cast<std::size_t>(kTypes * kProbeWidth));
    std::vector<std::int32_t> of_type;
    std::vector<double> frequency;
    for (float& x : vectors) x = normal(fixed);
    for (std::int64_t t = 0; t < kTypes; ++t) {
        of_type.push_back(static_cast<std::int32_t>(fixed() % kProbeClasses));
        frequency.push_back(1 / static_cast<double>(t + 3));
    }
    std::vector<float> centres(static_cast<std::size_t>(kProbeClasses * kProbeWidth));
    for (float& x : centres) x = normal(fixed);
    std::discrete_distribution<std::int64_t> types(frequency.begin(), frequency.end());
    const float depth = static_cast<float>(layer) / kProbeLayers;
    Words out{corpus::ProbeRows(count, kProbeWidth), {}};
    for (std::int64_t w = 0; w < count; ++w) {
        const std::int64_t type = types(random);
        const bool other = random() % 8 == 0;  // a word of another class than usual
        const auto label = other ? static_cast<std::int32_t>(random() % kProbeClasses) : of_type[static_cast<std::size_t>(type)];
        out.labels.push_back(label);
        for (std::int64_t f = 0; f < kProbeWidth; ++f) {
            const float size = std::pow(static_cast<float>(f % 256 + 1), -0.35F) * (f < 2 ? 100.0F : 1.0F);
            out.states(w, f) = size * ((1 - 0.6F * depth) * vectors[static_cast<std::size_t>(type * kProbeWidth + f)] +
                                       0.5F * depth * centres[static_cast<std::size_t>(label * kProbeWidth + f)] +
                                       (0.2F + 2 * depth) * normal(random));
        }
    }
    return out;
}

}  // namespace

Results probes(const Subject& subject) {
    Results results;
    double seconds = 0, most = 0;
    std::int64_t steps = 0;
    for (std::int64_t layer = 0; layer < kProbeLayers; ++layer) {
        const auto part = [&](std::int64_t count, std::uint64_t seed) {
            return words_of_layer(layer, count, seed + 100 * static_cast<std::uint64_t>(layer));
        };
        const Words train = part(kWords * 8 / 10, 1), development = part(kWords / 10, 2);
        const double taken = milliseconds([&] {
                                 const corpus::TrainingSet set(train.states);
                                 steps += corpus::fit_on_path(set, train.labels, kProbeClasses, development.states,
                                                              development.labels, {}, {.tolerance = 1e-5}, subject.cancel)
                                              .probe.steps;
                             }) /
                             1000;
        seconds += taken;
        most = std::max(most, taken);
    }
    results.push_back({kWords, "13 layers of 768, 17 classes, with the path", seconds, "s"});
    results.push_back({kWords, "slowest layer", most, "s"});
    results.push_back({kWords, "steps of a layer's last fit", static_cast<double>(steps) / kProbeLayers, "x"});
    return results;
}

}  // namespace headlight::bench
