// SPDX-License-Identifier: GPL-3.0-or-later
// Largest flows through the layers of one network.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace headlight::analyze {

/// Dinic's algorithm (1970) on a network of layers: level 0 is the input, level l + 1 what layer l leaves. An edge goes
/// from each token of a level to each token of the level below; its capacity is a number of that layer's matrix.
///
/// A query visits about three times as many edges as carry something, a few percent of the L·T² that there are: a
/// search asks each node only for nodes that nobody has found yet, and a node from which nothing more gets down is
/// asked no more. What flows is kept for these edges alone. Holds its work space: use one for many questions, from one
/// thread.
class LayeredFlow {
public:
    /// Capacities joint[l] are [query, key] and must outlive this. `causal`: all are lower triangles.
    LayeredFlow(const std::vector<Matrix>& joint, bool causal);

    /// Largest flow from token `from` after layer `layers` - 1 to input `to`.
    double largest(std::int64_t layers, std::int64_t from, std::int64_t to);

    struct Flow {
        std::int32_t from, to;  ///< token after the layer, token before it
        double amount;
    };
    /// What the last question's flow put through layer `layer`, by `from`, then `to`; only what is more than nothing.
    std::vector<Flow> flow_of_layer(std::int64_t layer) const;

private:
    struct Edge {
        std::int32_t layer, from, to;
        std::int32_t next_up;  ///< another edge into the same token of the level below; -1: none
        double flow;
    };
    struct Slot {
        std::int32_t question = -1;  ///< empty for every other question
        std::int32_t edge = -1;
    };
    /// Tokens of every level, of which some are struck off: the first one left at or after a token is found at once.
    class Remaining {
    public:
        void reset(std::int64_t levels, std::int64_t low, std::int64_t high);
        void strike(std::int64_t level, std::int64_t token) { ++next_[at(level, token)]; }
        /// One more than the last token where none is left.
        std::int64_t first(std::int64_t level, std::int64_t token);

    private:
        std::size_t at(std::int64_t level, std::int64_t token) const noexcept {
            return static_cast<std::size_t>(level * (width_ + 1) + token - low_);
        }
        std::int64_t low_ = 0, width_ = 0;
        std::vector<std::int32_t> next_;  ///< of a token that is left: itself
    };

    std::size_t id(std::int64_t level, std::int64_t token) const noexcept {
        return static_cast<std::size_t>(level * tokens_ + token);
    }
    float capacity(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept {
        return layer == 0 ? into_sink_[static_cast<std::size_t>(from)] : (*joint_)[static_cast<std::size_t>(layer)](from, to);
    }
    /// Where an edge is in the table, or where it would go.
    std::size_t slot(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept;
    std::int32_t find_edge(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept;
    double room(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept;
    void add(std::int64_t layer, std::int64_t from, std::int64_t to, double amount);
    void grow();
    void forget();
    void begin_phase();
    bool find_levels();
    double push(std::int64_t level, std::int64_t token, double limit);
    double push_down(std::int64_t level, std::int64_t token, std::int64_t to, double limit);

    const std::vector<Matrix>* joint_;
    bool causal_;
    std::int64_t tokens_ = 0;
    std::vector<float> into_sink_;  ///< column `to` of the lowest layer
    std::vector<Edge> edges_;       ///< that carry or carried something for this question
    std::vector<Slot> slots_;       ///< hash table of edges_
    std::int32_t question_ = 0;
    std::vector<std::int32_t> up_;            ///< [level, token]: first of the edges into it
    std::vector<std::int32_t> distance_;      ///< [level, token] from the source, -1: not found
    std::vector<std::int32_t> next_;          ///< [level, token]: how far a node's edges down are used up
    std::vector<std::int32_t> next_up_edge_;  ///< the same of those back up
    Remaining unseen_, alive_;
    std::vector<std::pair<std::int32_t, std::int32_t>> queue_;  ///< (level, token)
    std::int64_t layers_ = 0, from_ = 0, to_ = 0, low_ = 0, high_ = 0;
};

}  // namespace headlight::analyze
