// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_excess.h"

#include "headlight/base/lanes.h"

#include <algorithm>

namespace headlight::analyze {
namespace {

constexpr std::size_t slot_at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// sum weights[j] shares[j]
HEADLIGHT_WIDE double weighted_sum(const float* weights, const float* shares, std::int64_t n) {
    using namespace lanes;
    double all = 0;
    for (std::int64_t start = 0; start < n; start += kChunk) {
        const std::int64_t end = std::min(n, start + kChunk);
        Floats sum = {};
        std::int64_t at = start;
        for (; at + kLanes <= end; at += kLanes) {
            Floats w, s;
            std::memcpy(&w, weights + at, sizeof w);
            std::memcpy(&s, shares + at, sizeof s);
            sum += w * s;
        }
        for (int k = 0; at < end; ++at, ++k) sum[k] += weights[at] * shares[at];
        all += lanes_sum(sum);
    }
    return all;
}

/// How many rows have each key (or distance): ranges are added, the prefix sums are the counts.
class RangeCount {
public:
    explicit RangeCount(std::int64_t size) : steps_(slot_at(size + 1), 0) {}
    void add(std::int64_t first, std::int64_t last) {
        ++steps_[slot_at(first)];
        --steps_[slot_at(last)];
    }
    std::vector<std::int64_t> counts() const {
        std::vector<std::int64_t> out;
        std::int64_t sum = 0;
        for (std::size_t i = 0; i + 1 < steps_.size(); ++i) out.push_back(sum += steps_[i]);
        return out;
    }

private:
    std::vector<std::int64_t> steps_;
};

}  // namespace

template <class Take>
void HeadExcess::for_each_key(std::int64_t query, const model::KeyRange& legal, Take take) const {
    if (kind_ == Kind::previous_token) {
        if (query > 0 && legal.has(query - 1)) take(query - 1);
        return;
    }
    for (std::int64_t j = previous_same_[slot_at(query)]; j >= 0; j = previous_same_[slot_at(j)])
        if (const std::int64_t key = kind_ == Kind::induction ? j + 1 : j; legal.has(key)) take(key);
}

bool HeadExcess::counts(std::int64_t query, std::int64_t key) const {
    return key_others_[slot_at(key)] > 0 && (kind_ == Kind::previous_token || distance_others_[slot_at(query - key)] > 0);
}

HeadExcess::HeadExcess(Kind kind, const trace::PatternShape& shape, const std::vector<std::int64_t>& previous_same,
                       const std::vector<bool>& special)
    : kind_(kind), causal_(shape.causal), previous_same_(previous_same) {
    const std::int64_t n = shape.queries;
    for (std::size_t i = 0; i < previous_same_.size(); ++i)
        if (special[i]) previous_same_[i] = -1;
    const std::int64_t first = std::max<std::int64_t>(causal_ ? 1 : 0, shape.first_counted);  // row 0: itself alone
    RangeCount keys(n), distances(n);
    for (std::int64_t i = first; i < n; ++i) {
        const model::KeyRange legal = shape.legal(i);
        keys.add(legal.first, legal.last);
        distances.add(0, i - legal.first + 1);
    }
    key_others_ = keys.counts();
    distance_others_ = distances.counts();
    for (std::int64_t i = first; i < n; ++i) {
        --key_others_[slot_at(i)];  // its own query
        for_each_key(i, shape.legal(i), [&](std::int64_t j) {
            if (j != i) --key_others_[slot_at(j)];
            --distance_others_[slot_at(i - j)];
        });
    }
    std::vector<std::int64_t> at_key(slot_at(n), 0), at_distance(slot_at(n), 0);
    for (std::int64_t i = first; i < n; ++i) {
        bool any = false;
        for_each_key(i, shape.legal(i), [&](std::int64_t j) {
            if (!counts(i, j)) return;
            any = true;
            ++at_key[slot_at(j)];
            ++at_distance[slot_at(i - j)];
        });
        queries_ += any ? 1 : 0;
    }
    key_share_.assign(slot_at(n), 0);
    for (std::int64_t j = 0; j < n; ++j) {
        if (at_key[slot_at(j)] == 0) continue;
        keys_.push_back(j);
        key_share_[slot_at(j)] = static_cast<double>(at_key[slot_at(j)]) / static_cast<double>(key_others_[slot_at(j)]);
    }
    if (kind_ == Kind::previous_token) return;
    for (std::int64_t d = 0; d < n; ++d) {
        if (at_distance[slot_at(d)] == 0) continue;
        if (most_ < 0) least_ = d;
        most_ = d;
    }
    distance_share_.assign(slot_at(most_ + 1), 0);
    for (std::int64_t d = least_; d <= most_; ++d)
        if (at_distance[slot_at(d)] > 0)
            distance_share_[slot_at(most_ - d)] =
                static_cast<float>(at_distance[slot_at(d)]) / static_cast<float>(distance_others_[slot_at(d)]);
}

double HeadExcess::of_row(const trace::PatternRow& row) const {
    const std::int64_t i = row.query;
    if (queries_ == 0) return 0;
    const auto weight = [&](std::int64_t j) { return static_cast<double>(row.weights[j]); };
    // The columns have what this row gives its own key and the keys of its pairs: that is not one of the others'.
    double sum = key_share_[slot_at(i)] * weight(i);
    if (causal_ && i == 0) return sum;
    for_each_key(i, row.legal, [&](std::int64_t j) {
        const double here = j == i ? 0 : key_share_[slot_at(j)];
        const double apart =
            i - j >= least_ && i - j <= most_ ? static_cast<double>(distance_share_[slot_at(most_ - (i - j))]) : 0;
        sum += ((counts(i, j) ? 1 : 0) + here + apart) * weight(j);
    });
    if (most_ < 0) return sum;
    const std::int64_t begin = std::max(row.legal.first, i - most_), end = i - least_ + 1;
    if (begin >= end) return sum;
    return sum - weighted_sum(row.weights + begin, distance_share_.data() + (begin - (i - most_)), end - begin);
}

double HeadExcess::of_columns(const float* columns, std::int64_t keys) const {
    double sum = 0;
    for (const std::int64_t j : keys_) {
        if (j >= keys) break;
        sum += key_share_[slot_at(j)] * static_cast<double>(columns[j]);
    }
    return sum;
}

}  // namespace headlight::analyze
