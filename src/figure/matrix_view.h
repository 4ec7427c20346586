// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern_view.h"
#include "headlight/figure/figure.h"

#include <memory>

namespace headlight::figure {

/// What a matrix view draws, free of the model it came from.
struct MatrixViewData {
    std::vector<HeadId> heads;             ///< one map each, side by side
    std::vector<analyze::Matrix> weights;  ///< of each: [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    bool causal = true;
    QString weight_name = QStringLiteral("softmax weight");
};

std::unique_ptr<Figure> matrix_figure(MatrixViewData);

}  // namespace headlight::figure
