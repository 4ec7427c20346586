// SPDX-License-Identifier: GPL-3.0-or-later
// Matches heads of two models by what they attend to.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/distances/head_distances.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::corpus {

/// The partners that make the sum of costs smallest, each column used once at most (the Hungarian method in O(rows^2 columns);
/// Kuhn 1955, Munkres 1957): [row] its column, or -1 if there are more rows than columns. Error for a cost that is not finite.
std::vector<std::int64_t> cheapest_assignment(const Eigen::MatrixXd& costs);

struct HeadMatch {
    HeadId head;            ///< of the first model
    HeadId partner;         ///< of the second; of a one-to-one matching
    bool matched = false;   ///< false: the second model has fewer heads
    double divergence = 0;  ///< of the two, nats
    HeadId nearest;         ///< the second model's nearest head, which may be matched with another one
    double nearest_divergence = 0;
};

/// [head of a, head of b] mean Jensen-Shannon divergence over the queries that both keep, each of weight one.
/// Error when they keep different queries: other texts, tokens or seeds.
Eigen::MatrixXd cross_divergences(const HeadDistances& a, const HeadDistances& b);
/// Heads of a with their partners: the matching with the smallest sum of divergences.
std::vector<HeadMatch> match_heads(const HeadDistances& a, const HeadDistances& b);
/// One row per head of the first model.
analyze::Table table_of(const std::vector<HeadMatch>&);

}  // namespace headlight::corpus
