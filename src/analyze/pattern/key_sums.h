// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of patterns with their sums up to each key: the weight on any range of keys is one subtraction.
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/config.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace headlight::analyze {

using model::KeyRange;

class KeySums {
public:
    void read(const float* weights, KeyRange legal);
    /// The weight on keys [r.first, r.last), which are legal.
    double operator()(KeyRange r) const {
        return r.first < r.last ? sums_[static_cast<std::size_t>(r.last - legal_.first)] -
                                      sums_[static_cast<std::size_t>(r.first - legal_.first)]
                                : 0;
    }
    double total() const { return sums_[static_cast<std::size_t>(legal_.count())]; }

private:
    KeyRange legal_{};
    std::vector<double> sums_;  ///< may be longer than the row
};

/// Calls row(query, legal, weights of each head, their sums) for every query and `heads` heads of a layer from `first_head` on,
/// in any order and from several threads; patterns are read a few rows at a time.
using SummedRow =
    std::function<void(std::int64_t query, KeyRange legal, const std::vector<const float*>& weights, std::span<const KeySums>)>;
void for_each_summed_row(const trace::Trace&, Layer, std::int64_t first_head, std::int64_t heads, const SummedRow& row,
                         const CancelToken& = {});

}  // namespace headlight::analyze
