// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/heads/head_excess.h"

#include "analyze/pattern/row_sums.h"
#include "headlight/base/lanes.h"
#include "headlight/base/working_for.h"

#include <algorithm>
#include <numeric>

namespace headlight::analyze {
namespace {

constexpr std::size_t slot_at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A row's pairs among `n` consecutive keys: those with the row's `token` whose key and distance count. How many each key and
/// distance has goes up by one; were there any?
HEADLIGHT_WIDE bool count_pairs(const std::int32_t* tokens, std::int32_t token, const std::int32_t* key_counts,
                                const std::int32_t* distance_counts, std::int64_t n, std::int32_t* of_key,
                                std::int32_t* of_distance) {
    using lanes::Ints, lanes::kLanes;
    Ints pairs = {};
    std::int64_t at = 0;
    for (; at + kLanes <= n; at += kLanes) {
        Ints of, keys, distances, with_key, with_distance;
        std::memcpy(&of, tokens + at, sizeof of);
        std::memcpy(&keys, key_counts + at, sizeof keys);
        std::memcpy(&distances, distance_counts + at, sizeof distances);
        std::memcpy(&with_key, of_key + at, sizeof with_key);
        std::memcpy(&with_distance, of_distance + at, sizeof with_distance);
        const Ints pair = (of == token) & keys & distances;
        with_key += pair, with_distance += pair, pairs |= pair;
        std::memcpy(of_key + at, &with_key, sizeof with_key);
        std::memcpy(of_distance + at, &with_distance, sizeof with_distance);
    }
    std::int32_t any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= pairs[lane];
    for (; at < n; ++at) {
        const std::int32_t pair = tokens[at] == token ? key_counts[at] & distance_counts[at] : 0;
        of_key[at] += pair;
        of_distance[at] += pair;
        any |= pair;
    }
    return any != 0;
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

EarlierCopies::EarlierCopies(const std::vector<std::int64_t>& previous_same)
    : first_(previous_same.size()), count_(previous_same.size(), 0) {
    const std::size_t n = previous_same.size();
    std::vector<std::int32_t> chain(n), lengths;
    for (std::size_t i = 0; i < n; ++i) {
        if (previous_same[i] < 0) {
            chain[i] = static_cast<std::int32_t>(lengths.size());
            lengths.push_back(1);
            continue;
        }
        chain[i] = chain[slot_at(previous_same[i])];
        count_[i] = count_[slot_at(previous_same[i])] + 1;
        ++lengths[slot_at(chain[i])];
    }
    std::vector<std::int32_t> begin(lengths.size(), 0);
    std::exclusive_scan(lengths.begin(), lengths.end(), begin.begin(), 0);
    places_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        first_[i] = begin[slot_at(chain[i])];
        places_[slot_at(first_[i] + count_[i])] = static_cast<std::int32_t>(i);
    }
}

template <class Take>
void HeadExcess::for_each_key(std::int64_t query, const model::KeyRange& legal, Take take) const {
    if (kind_ == Kind::previous_token) {
        if (query > 0 && legal.has(query - 1)) take(query - 1);
        return;
    }
    const std::int64_t behind = kind_ == Kind::induction ? 1 : 0;
    for (const std::int64_t j : copies_.of(query))
        if (const std::int64_t key = j + behind; legal.has(key)) take(key);
}

HeadExcess::HeadExcess(Kind kind, const trace::PatternShape& shape, const std::vector<std::int64_t>& previous_same,
                       const std::vector<bool>& special)
    : kind_(kind), causal_(shape.causal) {
    const std::int64_t n = shape.queries;
    if (kind_ != Kind::previous_token) {
        std::vector<std::int64_t> same = previous_same;
        for (std::size_t i = 0; i < same.size(); ++i)
            if (special[i]) same[i] = -1;
        copies_ = EarlierCopies(same);
    }
    const std::int64_t first = std::max<std::int64_t>(causal_ ? 1 : 0, shape.first_counted);  // row 0: itself alone
    RangeCount keys(n), distances(n);
    for (std::int64_t i = first; i < n; ++i) {
        const model::KeyRange legal = shape.legal(i);
        keys.add(legal.first, legal.last);
        distances.add(0, i - legal.first + 1);
    }
    std::vector<std::int64_t> key_others = keys.counts(), distance_others = distances.counts();
    // Distances lie from the largest to the smallest, beside ascending keys.
    std::vector<std::int32_t> key_counts(slot_at(n), 1), distance_counts(slot_at(n), 1), at_key(slot_at(n), 0),
        at_distance(slot_at(n), 0);
    const auto slot_of_distance = [&](std::int64_t d) { return slot_at(n - 1 - d); };
    const std::int64_t behind = kind_ == Kind::induction ? 1 : 0;
    const CancelToken wanted = WorkingFor::token();
    // A text that repeats one token has a pair for every two positions: with many copies a look at all keys is faster.
    const auto looks_at_all = [&](std::int64_t i) {
        return kind_ != Kind::previous_token && std::ssize(copies_.of(i)) > shape.legal(i).count() / 8;
    };
    const auto count_rows = [&] {                                       // how many have a pair
        constexpr std::int64_t rows_at_once = 32, keys_at_once = 1024;  // what they count stays in the core's first cache
        std::int64_t found = 0;
        for (std::int64_t begin = first; begin < n; begin += rows_at_once) {
            wanted.throw_if_cancelled();
            const std::int64_t end = std::min(n, begin + rows_at_once);
            std::array<bool, rows_at_once> any{};
            for (std::int64_t at = 0; at < end; at += keys_at_once)
                for (std::int64_t i = begin; i < end; ++i) {
                    if (!looks_at_all(i)) continue;
                    const model::KeyRange legal = shape.legal(i);
                    const std::int64_t from = std::max({legal.first, behind, at}),
                                       to = std::min({legal.last, i + behind, at + keys_at_once});
                    if (from >= to) continue;
                    const std::size_t apart = slot_of_distance(i - from);
                    any[slot_at(i - begin)] |=
                        count_pairs(copies_.tokens() + from - behind, copies_.tokens()[i], &key_counts[slot_at(from)],
                                    &distance_counts[apart], to - from, &at_key[slot_at(from)], &at_distance[apart]);
                }
            for (std::int64_t i = begin; i < end; ++i)
                if (!looks_at_all(i))
                    for_each_key(i, shape.legal(i), [&](std::int64_t j) {
                        const std::size_t apart = slot_of_distance(i - j);
                        const std::int32_t pair = key_counts[slot_at(j)] & distance_counts[apart];
                        at_key[slot_at(j)] += pair;
                        at_distance[apart] += pair;
                        any[slot_at(i - begin)] |= pair != 0;
                    });
            found += std::ranges::count(any, true);
        }
        return found;
    };
    count_rows();
    for (std::int64_t i = first; i < n; ++i) {
        const bool is_pair = behind == 1 && !copies_.of(i).empty() && copies_.of(i).back() == i - 1;
        if (!is_pair) --key_others[slot_at(i)];  // its own query
    }
    for (std::int64_t i = 0; i < n; ++i) {
        key_others[slot_at(i)] -= at_key[slot_at(i)];
        distance_others[slot_at(i)] -= at_distance[slot_of_distance(i)];
    }
    for (std::int64_t i = 0; i < n; ++i) {
        key_counts[slot_at(i)] = key_others[slot_at(i)] > 0;
        if (kind_ != Kind::previous_token) distance_counts[slot_of_distance(i)] = distance_others[slot_at(i)] > 0;
    }
    std::ranges::fill(at_key, 0);
    std::ranges::fill(at_distance, 0);
    queries_ = count_rows();
    key_share_.assign(slot_at(n), 0);
    for (std::int64_t j = 0; j < n; ++j) {
        if (at_key[slot_at(j)] == 0) continue;
        key_share_[slot_at(j)] = static_cast<double>(at_key[slot_at(j)]) / static_cast<double>(key_others[slot_at(j)]);
    }
    if (kind_ == Kind::previous_token) return;
    for (std::int64_t d = 0; d < n; ++d) {
        if (at_distance[slot_of_distance(d)] == 0) continue;
        if (most_ < 0) least_ = d;
        most_ = d;
    }
    distance_share_.assign(slot_at(n), 0);
    for (std::int64_t d = std::max<std::int64_t>(least_, 0); d <= most_; ++d)
        if (const std::size_t apart = slot_of_distance(d); at_distance[apart] > 0)
            distance_share_[apart] = static_cast<double>(at_distance[apart]) / static_cast<double>(distance_others[slot_at(d)]);
}

double HeadExcess::of_row(const trace::PatternRow& row) const {
    const std::int64_t i = row.query;
    if (queries_ == 0) return 0;
    const auto weight = [&](std::int64_t j) { return static_cast<double>(row.weights[j]); };
    // The columns have what this row gives its own key and the keys of its pairs: that is not one of the others'.
    double sum = key_share_[slot_at(i)] * weight(i);
    if (causal_ && i == 0) return sum;
    const double* const apart =
        distance_share_.empty() ? nullptr : distance_share_.data() + (distance_share_.size() - 1 - slot_at(i));
    for_each_key(i, row.legal, [&](std::int64_t j) {
        const double here = j == i ? 0 : key_share_[slot_at(j)];
        const double there = apart ? apart[j] : 0;
        const bool counted = key_share_[slot_at(j)] > 0 && (!apart || there > 0);
        sum += ((counted ? 1 : 0) + here + there) * weight(j);
    });
    return sum;
}

double HeadExcess::of_columns(const float* columns, std::int64_t keys) const {
    return queries_ == 0 ? 0 : weighted_sum(key_share_.data(), columns, std::min(keys, std::ssize(key_share_)));
}

double HeadExcess::of_diagonals(const float* diagonals) const {
    const std::int64_t first = std::ssize(distance_share_) - 1 - most_;
    return most_ < 0 ? 0 : weighted_sum(distance_share_.data() + first, diagonals + first, most_ - least_ + 1);
}

}  // namespace headlight::analyze
