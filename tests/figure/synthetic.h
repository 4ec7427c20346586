// SPDX-License-Identifier: GPL-3.0-or-later
// Figure data made by hand: tokens t0, t1 … and weights by a formula.
#pragma once

#include "figure/core/draw.h"
#include "figure/pattern/head/head_view.h"
#include "figure/pattern/matrix/matrix_view.h"

#include <string>

namespace headlight::figure::synthetic {

inline analyze::PatternAxes axes(int tokens) {
    analyze::PatternAxes out;
    for (int i = 0; i < tokens; ++i) {
        analyze::AxisItem item;
        item.label = "t" + std::to_string(i);
        item.first = Position(i);
        out.queries.push_back(item);
    }
    out.keys = out.queries;
    return out;
}

/// weight(head, query, key)
template <class Weight>
HeadViewData heads(int tokens, int n_heads, Weight weight) {
    HeadViewData data;
    data.layer = Layer(4);
    data.n_heads = n_heads;
    data.axes = axes(tokens);
    for (int h = 0; h < n_heads; ++h) {
        data.heads.emplace_back(h);
        analyze::Matrix map(tokens, tokens);
        for (int i = 0; i < tokens; ++i)
            for (int j = 0; j < tokens; ++j) map(i, j) = weight(h, i, j);
        data.weights.push_back(map);
    }
    return data;
}

/// The same heads as maps side by side.
inline MatrixViewData matrices(const HeadViewData& from) {
    MatrixViewData data;
    for (Head h : from.heads) data.heads.push_back({from.layer, h});
    data.weights = from.weights;
    data.axes = from.axes;
    return data;
}

}  // namespace headlight::figure::synthetic
