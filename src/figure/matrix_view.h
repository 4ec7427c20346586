// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern_view.h"
#include "headlight/figure/figure.h"

#include <memory>
#include <string>

namespace headlight::figure {

/// What a matrix view draws, free of the model it came from.
struct MatrixViewData {
    std::vector<HeadId> heads;             ///< one map each, side by side; empty where maps are not of single heads
    std::vector<QString> names;            ///< then: what each map is, "after layer 3", "mean of 8 heads"
    std::vector<analyze::Matrix> weights;  ///< of each: [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    bool causal = true;
    QString weight_name = QStringLiteral("softmax weight");
    std::string view = "matrix";
    QString title, description;  ///< empty: those of attention maps
    double full = 1;             ///< the number that is drawn at full strength
    bool sums = false;           ///< bars with the sums of rows and columns beside the maps
    std::vector<std::string> notes;  ///< sentences for the legend
    QString name_of(std::size_t map) const;
};

std::unique_ptr<Figure> matrix_figure(MatrixViewData);

}  // namespace headlight::figure
