// SPDX-License-Identifier: GPL-3.0-or-later
// A neuron view with made-up vectors: the sums are real, the numbers are not a model's.
#pragma once

#include "figure/pattern/neuron/neuron_view_layout.h"

#include <cmath>
#include <random>

namespace headlight::figure::sample {

struct NeuronShape {
    std::int64_t tokens = 17, query = 13, d_head = 32;
    double slope = 1.0 / 64;  ///< ALiBi; 0: no additive term
};

inline std::vector<analyze::AxisItem> axis_items(std::int64_t tokens) {
    static const char* const words[] = {"<s>", "The",      "·old", "·doctor", "·asked",  "·the", "·nurse", "·to", "·wait",
                                        ",",   "·because", "·the", "·old",    "·doctor", "·was", "·late",  "."};
    std::vector<analyze::AxisItem> items(static_cast<std::size_t>(tokens));
    for (std::int64_t i = 0; i < tokens; ++i) {
        auto& item = items[static_cast<std::size_t>(i)];
        item.label = words[i == 0 ? 0 : (i - 1) % 16 + 1];
        item.special = i == 0;
        item.first = Position{i};
    }
    return items;
}

inline NeuronViewData neuron(const NeuronShape& shape) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 2.2f);
    NeuronViewData data;
    data.labels = axis_items(shape.tokens);
    data.query = data.labels[static_cast<std::size_t>(shape.query)];
    data.model = "novella-7m";
    data.dtype = "fp32";
    auto& v = data.view;
    v.head = {Layer{4}, Head{5}};
    v.kv_head = 5;
    v.query = Position{shape.query};
    v.scale = 1 / std::sqrt(double(shape.d_head));
    v.position_kind = shape.slope > 0 ? "ALiBi" : "rotary";
    v.q = analyze::Vector::NullaryExpr(shape.d_head, [&] { return normal(random); });
    v.k = analyze::Matrix::NullaryExpr(shape.tokens, shape.d_head, [&] { return normal(random); });
    v.products = v.k.array().rowwise() * v.q.transpose().array();
    v.dot = v.products.rowwise().sum() * float(v.scale);
    v.score = v.dot;
    if (shape.slope > 0) {
        for (std::int64_t j = 0; j < shape.tokens; ++j) v.position.push_back(float(-shape.slope * double(shape.query - j)));
        for (std::int64_t j = 0; j < shape.tokens; ++j) v.score[j] += v.position[static_cast<std::size_t>(j)];
    }
    v.weight = analyze::Vector::Zero(shape.tokens);
    const auto legal = shape.query + 1;
    v.weight.head(legal) = (v.score.head(legal).array() - v.score.head(legal).maxCoeff()).exp();
    v.weight /= v.weight.sum();
    v.score.tail(shape.tokens - legal).setConstant(NAN);
    v.value_norm = analyze::Vector::LinSpaced(shape.tokens, 10, 45);
    v.weighted_value_norm = v.weight.cwiseProduct(v.value_norm);
    return data;
}

}  // namespace headlight::figure::sample
