// SPDX-License-Identifier: GPL-3.0-or-later
// Means of the measures over texts, and the one measure that needs several.
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/trace/tensors.h"

#include <algorithm>

namespace headlight::analyze {

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

FirstPairs HeadAverages::first_pairs() const { return {.causal = causal_}; }

void HeadAverages::add_corner(const trace::Trace& trace) {
    const FirstPairs pairs = first_pairs();
    const std::int64_t rows = std::min(kFirstTokens, trace.tokens());
    std::vector<float> corner(static_cast<std::size_t>(sums_.n_layers * sums_.n_heads * pairs.size()));
    auto* out = corner.data();
    for (std::int64_t layer = 0; layer < sums_.n_layers; ++layer)
        for (std::int64_t head = 0; head < sums_.n_heads; ++head, out += pairs.size()) {
            const at::Tensor tile =
                trace::pattern_rows(trace, Layer(layer), Head(head), 0, rows).narrow(1, 0, rows).to(at::kFloat).contiguous();
            const float* weights = tile.data_ptr<float>();
            for (std::int64_t i = 0; i < rows; ++i)
                std::copy_n(weights + i * rows, std::min(pairs.keys(i), rows), out + pairs.at(i, 0));
        }
    corners_.push_back(std::move(corner));
}

double HeadAverages::variability(std::int64_t head) const {
    const FirstPairs pairs = first_pairs();
    std::vector<FirstWeights> texts;
    for (std::size_t text = 0; text < corners_.size(); ++text)
        texts.push_back({corners_[text].data() + head * pairs.size(), tokens_[text]});
    return analyze::variability(texts, pairs).value();
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
