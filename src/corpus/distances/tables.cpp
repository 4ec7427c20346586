// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/distances/tables.h"

#include "headlight/base/numbers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace headlight::corpus {

analyze::Table pairs_table(const HeadDistances& distances, bool sorted) {
    analyze::Table table{{"layer_a", "head_a", "layer_b", "head_b", "divergence", "standard_error"}, {}};
    table.definitions = {{"divergence", "mean Jensen-Shannon divergence of the two heads' weights, nats; at most ln 2"},
                         {"standard_error", "standard error of the mean over chunks, treated as independent"}};
    const Eigen::MatrixXd means = distances.means(), errors = distances.standard_errors();
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (std::int64_t a = 0; a < distances.heads(); ++a)
        for (std::int64_t b = a + 1; b < distances.heads(); ++b) pairs.emplace_back(a, b);
    if (sorted) std::ranges::stable_sort(pairs, {}, [&](const auto& pair) { return means(pair.first, pair.second); });
    for (const auto& [a, b] : pairs) {
        const HeadId first = distances.head(a), second = distances.head(b);
        table.add({first.layer.value, first.head.value, second.layer.value, second.head.value, means(a, b), errors(a, b)});
    }
    return table;
}

HeadMap head_map(const HeadDistances& distances, const MapTableOptions& options) {
    const Eigen::MatrixXd means = distances.means();
    return {metric_scaling(means, options.scaling), groups_below(average_linkage(means), options.group_below)};
}

analyze::Table map_table(const HeadDistances& distances, const HeadMap& map, const MapTableOptions& options) {
    analyze::Table table{{"layer", "head", "x", "y", "group", "nearest"}, {}};
    table.definitions = {{"x", "nats; metric scaling of the divergences to a plane, turned to its axis of largest variance"},
                         {"group", "average linkage, merged up to a mean divergence of " + significant(options.group_below)},
                         {"nearest", "the heads of the smallest divergence, with it"}};
    const Eigen::MatrixXd means = distances.means();
    for (std::int64_t h = 0; h < distances.heads(); ++h) {
        std::string listed;
        const std::vector<std::int64_t> others = nearest_heads(means, h);
        for (std::int64_t i = 0; i < std::min(options.nearest, std::ssize(others)); ++i) {
            const std::int64_t other = others[static_cast<std::size_t>(i)];
            const HeadId id = distances.head(other);
            listed += (listed.empty() ? "" : "   ") + ("L" + std::to_string(id.layer.value)) + "H" +
                      std::to_string(id.head.value) + " " + significant(means(h, other));
        }
        const HeadId id = distances.head(h);
        table.add({id.layer.value, id.head.value, map.scaling.coordinates(h, 0), map.scaling.coordinates(h, 1),
                   map.groups[static_cast<std::size_t>(h)], listed});
    }
    return table;
}

}  // namespace headlight::corpus
