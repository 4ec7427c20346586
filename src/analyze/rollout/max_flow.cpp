// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/rollout/max_flow.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace headlight::analyze {
namespace {

/// Less room than this is none: rounding of float64 sums of numbers up to 1.
constexpr double nothing = 1e-13;

constexpr std::int32_t own_column = -1;  ///< of next_: the token itself comes first, the residual makes it the widest way

}  // namespace

void LayeredFlow::Remaining::reset(std::int64_t levels, std::int64_t low, std::int64_t high) {
    low_ = low, width_ = high - low + 1;
    next_.resize(static_cast<std::size_t>(levels * (width_ + 1)));
    for (std::int64_t l = 0; l < levels; ++l)
        for (std::int64_t t = 0; t <= width_; ++t)
            next_[static_cast<std::size_t>(l * (width_ + 1) + t)] = static_cast<std::int32_t>(t);
}

std::int64_t LayeredFlow::Remaining::first(std::int64_t level, std::int64_t token) {
    std::int32_t* next = next_.data() + at(level, low_);
    auto t = static_cast<std::int32_t>(token - low_);
    while (next[t] != t) t = next[t] = next[next[t]];  // halves the way for the next one who asks
    return low_ + t;
}

LayeredFlow::LayeredFlow(const std::vector<Matrix>& joint, bool causal)
    : joint_(&joint), causal_(causal), tokens_(joint.empty() ? 0 : joint.front().rows()) {
    const std::size_t nodes = static_cast<std::size_t>(tokens_) * (joint.size() + 1);
    into_sink_.resize(static_cast<std::size_t>(tokens_));
    distance_.resize(nodes);
    next_.resize(nodes);
    next_up_edge_.resize(nodes);
    up_.assign(nodes, -1);
    slots_.resize(1024);
}

// --- what flows -----------------------------------------------------------------------------------------------------

std::size_t LayeredFlow::slot(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept {
    const auto key = static_cast<std::uint64_t>((layer * tokens_ + from) * tokens_ + to);
    const std::size_t last = slots_.size() - 1;
    for (auto s = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 24) & last;; s = (s + 1) & last) {
        if (slots_[s].question != question_) return s;
        const Edge& e = edges_[static_cast<std::size_t>(slots_[s].edge)];
        if (e.to == to && e.from == from && e.layer == layer) return s;
    }
}

std::int32_t LayeredFlow::find_edge(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept {
    const Slot& found = slots_[slot(layer, from, to)];
    return found.question == question_ ? found.edge : -1;
}

double LayeredFlow::room(std::int64_t layer, std::int64_t from, std::int64_t to) const noexcept {
    const auto most = static_cast<double>(capacity(layer, from, to));
    if (most <= nothing) return 0;
    const std::int32_t e = find_edge(layer, from, to);
    return e < 0 ? most : most - edges_[static_cast<std::size_t>(e)].flow;
}

void LayeredFlow::grow() {
    slots_.assign(slots_.size() * 2, {});
    for (std::size_t e = 0; e < edges_.size(); ++e)
        slots_[slot(edges_[e].layer, edges_[e].from, edges_[e].to)] = {question_, static_cast<std::int32_t>(e)};
}

void LayeredFlow::add(std::int64_t layer, std::int64_t from, std::int64_t to, double amount) {
    const std::int32_t known = find_edge(layer, from, to);
    if (known >= 0) {
        edges_[static_cast<std::size_t>(known)].flow += amount;
        return;
    }
    if (2 * (edges_.size() + 1) > slots_.size()) grow();
    const auto e = static_cast<std::int32_t>(edges_.size());
    slots_[slot(layer, from, to)] = {question_, e};
    std::int32_t& first = up_[id(layer, to)];
    edges_.push_back(
        {static_cast<std::int32_t>(layer), static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), first, amount});
    first = e;
}

void LayeredFlow::forget() {
    for (const Edge& e : edges_) up_[id(e.layer, e.to)] = -1;
    edges_.clear();
    if (++question_ == std::numeric_limits<std::int32_t>::max()) {
        slots_.assign(slots_.size(), {});
        question_ = 0;
    }
}

// --- Dinic ----------------------------------------------------------------------------------------------------------

void LayeredFlow::begin_phase() {
    queue_.clear();
    unseen_.reset(layers_ + 1, low_, high_);
    alive_.reset(layers_ + 1, low_, high_);
    for (std::int64_t level = 0; level <= layers_; ++level) {
        const std::size_t begin = id(level, low_), end = id(level, high_) + 1;
        std::fill(distance_.data() + begin, distance_.data() + end, -1);
        std::fill(next_.data() + begin, next_.data() + end, own_column);
        std::copy(up_.data() + begin, up_.data() + end, next_up_edge_.data() + begin);
    }
}

/// Steps from the source to every node by edges with room, until the sink is found.
bool LayeredFlow::find_levels() {
    begin_phase();
    const auto found = [this](std::int64_t level, std::int64_t token, std::int32_t distance) {
        distance_[id(level, token)] = distance;
        unseen_.strike(level, token);
        queue_.emplace_back(static_cast<std::int32_t>(level), static_cast<std::int32_t>(token));
    };
    found(layers_, from_, 0);
    for (std::size_t head = 0; head < queue_.size(); ++head) {
        const auto [level, token] = queue_[head];
        const std::int32_t step = distance_[id(level, token)] + 1;
        if (level == 1) {
            if (room(0, token, to_) > nothing) {  // all nodes that are as near as this one are found already
                distance_[id(0, to_)] = step;
                return true;
            }
        } else {
            const std::int64_t last = causal_ ? token : high_;
            for (std::int64_t b = unseen_.first(level - 1, low_); b <= last; b = unseen_.first(level - 1, b + 1))
                if (room(level - 1, token, b) > nothing) found(level - 1, b, step);
        }
        if (level + 1 >= layers_) continue;
        for (std::int32_t e = up_[id(level, token)]; e >= 0; e = edges_[static_cast<std::size_t>(e)].next_up) {
            const Edge& edge = edges_[static_cast<std::size_t>(e)];  // back up along what flows already
            if (edge.flow > nothing && distance_[id(level + 1, edge.from)] < 0) found(level + 1, edge.from, step);
        }
    }
    return false;
}

double LayeredFlow::push_down(std::int64_t level, std::int64_t token, std::int64_t to, double limit) {
    if (distance_[id(level - 1, to)] != distance_[id(level, token)] + 1) return 0;
    if (alive_.first(level - 1, to) != to) return 0;
    const double most = room(level - 1, token, to);
    if (most <= nothing) return 0;
    const double got = push(level - 1, to, std::min(limit, most));
    if (got > 0) add(level - 1, token, to, got);
    return got;
}

/// Sends up to `limit` from a node to the sink along edges that lead one step on. next_ and next_up_edge_ remember
/// which edges of the node are used up: first its own column, then the others down, then those back up. An edge on
/// which the limit was reached may have room left and stays; a node without edges is struck off.
double LayeredFlow::push(std::int64_t level, std::int64_t token, double limit) {
    if (level == 0) return limit;
    const std::size_t node = id(level, token);
    const std::int64_t last = level == 1 ? low_ - 1 : causal_ ? token : high_;
    double sent = 0;
    if (next_[node] == own_column) {
        sent += push_down(level, token, level == 1 ? to_ : token, limit);
        if (limit - sent <= nothing) return sent;
        next_[node] = static_cast<std::int32_t>(low_);
    }
    for (std::int64_t b; (b = alive_.first(level - 1, next_[node])) <= last;) {
        next_[node] = static_cast<std::int32_t>(b);
        sent += push_down(level, token, b, limit - sent);
        if (limit - sent <= nothing) return sent;
        next_[node] = static_cast<std::int32_t>(b + 1);
    }
    for (std::int32_t& e = next_up_edge_[node]; e >= 0 && level + 1 < layers_; e = edges_[static_cast<std::size_t>(e)].next_up) {
        const auto [layer, from, to, next, flow] = edges_[static_cast<std::size_t>(e)];
        if (flow <= nothing || distance_[id(level + 1, from)] != distance_[node] + 1) continue;
        if (alive_.first(level + 1, from) != from) continue;
        const double got = push(level + 1, from, std::min(limit - sent, flow));
        edges_[static_cast<std::size_t>(e)].flow -= got;
        sent += got;
        if (limit - sent <= nothing) return sent;
    }
    alive_.strike(level, token);
    return sent;
}

double LayeredFlow::largest(std::int64_t layers, std::int64_t from, std::int64_t to) {
    forget();
    layers_ = layers;
    from_ = from;
    to_ = to;
    low_ = causal_ ? to : 0;
    high_ = causal_ ? from : tokens_ - 1;
    if (layers < 1 || low_ > high_) return 0;
    double out_of_source = 0, into_sink = 0;
    for (std::int64_t k = low_; k <= high_; ++k) {
        into_sink_[static_cast<std::size_t>(k)] = joint_->front()(k, to);
        if (layers == 1 && k != from) continue;
        into_sink += static_cast<double>(into_sink_[static_cast<std::size_t>(k)]);
        out_of_source += static_cast<double>(capacity(layers - 1, from, k));
    }
    double total = 0;
    while (total < std::min(out_of_source, into_sink) - nothing && find_levels()) {
        const double got = push(layers_, from_, std::numeric_limits<double>::max());
        if (got <= nothing) break;
        total += got;
    }
    return total;
}

std::vector<LayeredFlow::Flow> LayeredFlow::flow_of_layer(std::int64_t layer) const {
    std::vector<Flow> out;
    for (const Edge& e : edges_)
        if (e.layer == layer && e.flow > nothing) out.push_back({e.from, e.to, e.flow});
    std::sort(out.begin(), out.end(),
              [](const Flow& a, const Flow& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
    return out;
}

}  // namespace headlight::analyze
