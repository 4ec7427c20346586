// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/heads/head_places.h"

#include "corpus/reading/separated.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/fixed_sum.h"

namespace headlight::corpus {

std::vector<std::string> measure_ids(const Arrays& merged) {
    const auto bytes = merged.get<std::uint8_t>("heads.measures", {-1});
    std::vector<std::string> ids = split<std::string>(std::string(bytes.begin(), bytes.end()), ',');
    if (merged.has("variability.weights")) ids.emplace_back("variability");
    return ids;
}

Eigen::MatrixXd distance_weights(const Arrays& merged) {
    const auto halves = merged.get<std::int64_t>("heads.distance", {-1, -1, kDistanceBins, 2});
    Eigen::MatrixXd weights(std::ssize(halves) / (2 * kDistanceBins), kDistanceBins);
    for (Eigen::Index head = 0; head < weights.rows(); ++head)
        for (Eigen::Index bin = 0; bin < kDistanceBins; ++bin) {
            const std::int64_t* at = halves.data() + 2 * (head * kDistanceBins + bin);
            weights(head, bin) = FixedSum::of(at[0], at[1]).value();
        }
    return weights;
}

std::vector<Example> head_examples(const Arrays& merged, HeadExample criterion, HeadId id) {
    const auto shape = merged.shape("heads.top_text");
    const auto text = merged.get<std::int64_t>("heads.top_text", {kHeadExamples, -1, -1, -1});
    if (id.layer.value < 0 || id.layer.value >= shape[1] || id.head.value < 0 || id.head.value >= shape[2])
        throw Error({.problem = "The store has no such head",
                     .expected = "layer 0 to " + std::to_string(shape[1] - 1) + ", head 0 to " + std::to_string(shape[2] - 1),
                     .found = "L" + std::to_string(id.layer.value) + "H" + std::to_string(id.head.value)});
    const auto value = merged.get<float>("heads.top_value", shape);
    const auto query = merged.get<std::int32_t>("heads.top_query", shape), key = merged.get<std::int32_t>("heads.top_key", shape);
    const auto first = static_cast<std::size_t>(
        ((static_cast<std::int64_t>(criterion) * shape[1] + id.layer.value) * shape[2] + id.head.value) * shape[3]);
    std::vector<Example> examples;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(shape[3]); ++i)
        if (text[i] >= 0) examples.push_back({value[i], text[i], query[i], key[i]});
    return examples;
}

}  // namespace headlight::corpus
