// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/max_flow.h"

#include <algorithm>
#include <limits>

namespace headlight::analyze {
namespace {

/// Less room than this is none: rounding of float64 sums of numbers up to 1.
constexpr double nothing = 1e-13;

}  // namespace

LayeredFlow::LayeredFlow(const std::vector<Matrix>& joint, bool causal)
    : joint_(&joint), causal_(causal), tokens_(joint.empty() ? 0 : joint.front().rows()) {
    for (std::size_t l = 0; l < joint.size(); ++l) flow_.emplace_back(tokens_, tokens_);
    for (auto& each : flow_) each.setZero();
    distance_.resize(static_cast<std::size_t>(tokens_) * (joint.size() + 1));
    next_.resize(distance_.size());
}

/// Steps from the source to every node by edges with room, until the sink is found.
bool LayeredFlow::find_levels() {
    std::fill(distance_.begin(), distance_.end(), -1);
    queue_.clear();
    queue_.push_back({layers_, from_});
    distance_[id(layers_, from_)] = 0;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
        const Node at = queue_[head];
        const std::int32_t step = distance_[id(at.level, at.token)] + 1;
        if (at.level > 0) {
            const bool last = at.level == 1;
            const std::int64_t begin = last ? to_ : low_, end = (last ? to_ : causal_ ? at.token : high_) + 1;
            for (std::int64_t b = begin; b < end; ++b) {
                std::int32_t& d = distance_[id(at.level - 1, b)];
                if (d >= 0 || room(at.level - 1, at.token, b) <= nothing) continue;
                d = step;
                queue_.push_back({at.level - 1, b});
                if (at.level == 1) return true;
            }
        }
        if (at.level + 1 < layers_ && at.level > 0) {  // back up along what flows already
            for (std::int64_t a = causal_ ? at.token : low_; a <= high_; ++a) {
                std::int32_t& d = distance_[id(at.level + 1, a)];
                if (d >= 0 || flow(at.level, a, at.token) <= nothing) continue;
                d = step;
                queue_.push_back({at.level + 1, a});
            }
        }
    }
    return false;
}

/// Sends up to `limit` from a node to the sink along edges that lead one step on. next_ remembers which edges of the
/// node are used up: first those down, then those back up.
double LayeredFlow::push(Node at, double limit) {
    if (at.level == 0) return limit;
    const std::int64_t width = high_ - low_ + 1;
    const std::int32_t step = distance_[id(at.level, at.token)] + 1;
    const bool can_rise = at.level + 1 < layers_;
    std::int32_t& next = next_[id(at.level, at.token)];
    double sent = 0;
    for (; next < width * (can_rise ? 2 : 1); ++next) {
        const bool down = next < width;
        const std::int64_t token = low_ + (down ? next : next - width);
        const Node to{down ? at.level - 1 : at.level + 1, token};
        if (distance_[id(to.level, to.token)] != step || (to.level == 0 && to.token != to_)) continue;
        const double most = down ? room(at.level - 1, at.token, token) : flow(at.level, token, at.token);
        if (most <= nothing) continue;
        const double got = push(to, std::min(limit - sent, most));
        if (got > 0) {
            if (down)
                flow(at.level - 1, at.token, token) += got;
            else
                flow(at.level, token, at.token) -= got;
            sent += got;
        }
        if (limit - sent <= nothing) return sent;  // this edge may have room left: next stays
    }
    return sent;
}

double LayeredFlow::largest(std::int64_t layers, std::int64_t from, std::int64_t to) {
    for (std::int64_t l = 0; l < layers_; ++l)  // forget the last question
        flow_[static_cast<std::size_t>(l)].block(low_, low_, high_ - low_ + 1, high_ - low_ + 1).setZero();
    layers_ = layers;
    from_ = from;
    to_ = to;
    low_ = causal_ ? to : 0;
    high_ = causal_ ? from : tokens_ - 1;
    if (causal_ && to > from) {
        layers_ = 0;
        low_ = high_ = 0;
        return 0;
    }
    double total = 0;
    while (find_levels()) {
        std::fill(next_.begin(), next_.end(), 0);
        const double got = push({layers_, from_}, std::numeric_limits<double>::max());
        if (got <= nothing) break;
        total += got;
    }
    return total;
}

Matrix LayeredFlow::flow_of_layer(std::int64_t layer) const {
    if (layer >= layers_) return Matrix::Zero(tokens_, tokens_);
    return flow_[static_cast<std::size_t>(layer)].cast<float>();
}

}  // namespace headlight::analyze
