// SPDX-License-Identifier: GPL-3.0-or-later
#include "analyze/logit_rows.h"

#include "model/kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace headlight::analyze {
namespace {

namespace kernels = model::kernels;

/// The best `count` of x: every one of them lies in a block whose best value is at least the count-th best of all
/// blocks' best values, so only about `count` blocks are read.
template <class Better>
std::vector<TokenScore> best_of(const float* x, std::int64_t n, const std::vector<float>& blocks, std::int64_t count,
                                double log_sum, Better better) {
    const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, n));
    std::vector<TokenScore> found;
    if (wanted == 0) return found;
    std::vector<float> order = blocks;
    const std::size_t last = std::min(wanted, order.size()) - 1;
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(last), order.end(), better);
    const bool all = wanted > order.size();
    const float limit = order[last];
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        if (!all && better(limit, blocks[b])) continue;
        const auto first = static_cast<std::int64_t>(b) * kernels::kBlock;
        for (std::int64_t j = first; j < std::min(first + kernels::kBlock, n); ++j)
            if (all || !better(limit, x[j])) found.push_back({j, x[j], 0});
    }
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::partial_sort(found.begin(), end, found.end(), [&](const TokenScore& a, const TokenScore& b) {
        return a.logit != b.logit ? better(a.logit, b.logit) : a.id < b.id;
    });
    found.erase(end, found.end());
    for (TokenScore& each : found)
        each.probability = static_cast<float>(std::exp(static_cast<double>(each.logit) - log_sum));
    return found;
}

}  // namespace

LogitRow::LogitRow(const float* logits, std::int64_t vocab)
    : x_(logits), vocab_(vocab), maxima_(static_cast<std::size_t>((vocab + kernels::kBlock - 1) / kernels::kBlock)) {
    kernels::block_maxima(x_, vocab_, maxima_.data());
    highest_ = *std::max_element(maxima_.begin(), maxima_.end());
}

RowNumbers LogitRow::numbers() const {
    const kernels::ExpSums sums = kernels::exp_sums(x_, vocab_, highest_);
    const double log = std::log(sums.sum);
    return {static_cast<double>(highest_) + log, log - sums.weighted / sums.sum};
}

std::vector<TokenScore> LogitRow::largest(std::int64_t count, double log_sum) const {
    return best_of(x_, vocab_, maxima_, count, log_sum, std::greater<float>());
}

std::vector<TokenScore> LogitRow::smallest(std::int64_t count, double log_sum) const {
    std::vector<float> minima(maxima_.size());
    kernels::block_minima(x_, vocab_, minima.data());
    return best_of(x_, vocab_, minima, count, log_sum, std::less<float>());
}

std::int64_t LogitRow::rank(std::int64_t id) const {
    return kernels::count_above(x_, vocab_, x_[id]);
}

}  // namespace headlight::analyze
