// SPDX-License-Identifier: GPL-3.0-or-later
// Means of the measures over texts, and the one measure that needs several.
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"

#include <algorithm>
#include <cmath>

namespace headlight::analyze {
namespace {

constexpr std::int64_t kFirstTokens = 10;  ///< Vig & Belinkov 2019: enough texts have so many

}  // namespace

void HeadAverages::add(const trace::Trace& trace) {
    const HeadTable one = head_table(trace, options_);
    if (texts() == 0) {
        sums_ = one;
        for (Eigen::MatrixXd& values : sums_.values) values.setZero();
        counts_ = sums_.values;
        causal_ = trace.config().causal;
    } else if (one.n_layers != sums_.n_layers || one.n_heads != sums_.n_heads) {
        throw Error("Means over texts need runs of one model");
    } else {
        sums_.rows += one.rows;
        for (const auto& [id, count] : one.queries) sums_.queries[id] += count;
    }
    for (std::size_t m = 0; m < one.values.size(); ++m) {
        const auto there = one.values[m].array().isNaN() == false;
        sums_.values[m].array() += there.select(one.values[m].array(), 0.0);
        counts_[m].array() += there.cast<double>();
    }
    add_corner(trace);
    tokens_.push_back(trace.tokens());
}

void HeadAverages::add_corner(const trace::Trace& trace) {
    const std::int64_t rows = std::min(kFirstTokens, trace.tokens());
    std::vector<float> corner(static_cast<std::size_t>(sums_.n_layers * sums_.n_heads * kFirstTokens * kFirstTokens));
    auto* out = corner.data();
    for (std::int64_t layer = 0; layer < sums_.n_layers; ++layer)
        for (std::int64_t head = 0; head < sums_.n_heads; ++head, out += kFirstTokens * kFirstTokens) {
            const at::Tensor tile =
                trace::pattern_rows(trace, Layer(layer), Head(head), 0, rows).narrow(1, 0, rows).to(at::kFloat).contiguous();
            const float* weights = tile.data_ptr<float>();
            for (std::int64_t i = 0; i < rows; ++i) std::copy_n(weights + i * rows, rows, out + i * kFirstTokens);
        }
    corners_.push_back(std::move(corner));
}

double HeadAverages::variability(std::int64_t head) const {
    double differences = 0, weights = 0;
    const std::int64_t first = causal_ && !options_.with_first_row ? 1 : 0;
    for (std::int64_t i = first; i < kFirstTokens; ++i) {
        for (std::int64_t j = 0; j < (causal_ ? i + 1 : kFirstTokens); ++j) {
            const auto at = static_cast<std::size_t>((head * kFirstTokens + i) * kFirstTokens + j);
            const auto has = [&](std::size_t text) { return tokens_[text] > std::max(i, j); };
            double sum = 0, count = 0;
            for (std::size_t text = 0; text < corners_.size(); ++text) {
                if (!has(text)) continue;
                sum += static_cast<double>(corners_[text][at]);
                count += 1;
            }
            if (count < 2) continue;  // its own mean: no difference to speak of
            weights += sum;
            for (std::size_t text = 0; text < corners_.size(); ++text)
                if (has(text)) differences += std::abs(static_cast<double>(corners_[text][at]) - sum / count);
        }
    }
    return weights > 0 ? differences / (2 * weights) : std::nan("");
}

HeadTable HeadAverages::table() const {
    if (texts() == 0) throw Error("There are no texts to take means over");
    HeadTable means = sums_;
    for (std::size_t m = 0; m < means.values.size(); ++m) {
        means.values[m].array() /= counts_[m].array();  // 0 / 0: no text has it
        if (means.measures[m].id != "variability") continue;
        for (std::int64_t layer = 0; layer < means.n_layers; ++layer)
            for (std::int64_t head = 0; head < means.n_heads; ++head)
                means.values[m](layer, head) = variability(layer * means.n_heads + head);
    }
    return means;
}

}  // namespace headlight::analyze
