// SPDX-License-Identifier: GPL-3.0-or-later
// Largest flows through the layers of one network.
#pragma once

#include "headlight/analyze/pattern_view.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// Dinic's algorithm (1970) on a network of layers: level 0 is the input, level l + 1 what layer l leaves. An edge goes
/// from each token of a level to each token of the level below; its capacity is a number of that layer's matrix.
/// Holds its work space: use one for many questions, from one thread.
class LayeredFlow {
public:
    /// Capacities joint[l] are [query, key] and must outlive this. `causal`: all are lower triangles.
    LayeredFlow(const std::vector<Matrix>& joint, bool causal);

    /// Largest flow from token `from` after layer `layers` - 1 to input `to`.
    double largest(std::int64_t layers, std::int64_t from, std::int64_t to);
    /// What the last question's flow put through layer `layer` (after a call of largest): [query, key].
    Matrix flow_of_layer(std::int64_t layer) const;

private:
    struct Node {
        std::int64_t level, token;
    };
    std::size_t id(std::int64_t level, std::int64_t token) const noexcept {
        return static_cast<std::size_t>(level * tokens_ + token);
    }
    double& flow(std::int64_t layer, std::int64_t from, std::int64_t to) noexcept {
        return flow_[static_cast<std::size_t>(layer)](from, to);
    }
    double room(std::int64_t layer, std::int64_t from, std::int64_t to) noexcept {
        return static_cast<double>((*joint_)[static_cast<std::size_t>(layer)](from, to)) - flow(layer, from, to);
    }
    bool find_levels();
    double push(Node, double limit);

    const std::vector<Matrix>* joint_;
    bool causal_;
    std::int64_t tokens_ = 0;
    std::vector<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> flow_;
    std::vector<std::int32_t> distance_, next_;  ///< [level, token]
    std::vector<Node> queue_;
    std::int64_t layers_ = 0, from_ = 0, to_ = 0, low_ = 0, high_ = 0;
};

}  // namespace headlight::analyze
