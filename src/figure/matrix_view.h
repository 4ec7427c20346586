// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern_view.h"
#include "headlight/figure/figure.h"

#include <memory>
#include <optional>

namespace headlight::figure {

/// What a matrix view draws, free of the model it came from.
struct MatrixViewData {
    std::vector<HeadId> heads;             ///< one map each, side by side
    std::vector<analyze::Matrix> weights;  ///< of each: [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    bool causal = true;
    QString weight_name = QStringLiteral("softmax weight");

    /// Signed numbers: colours run from orange over the canvas (at the row's middle) to blue, `limit` away on each
    /// side.
    struct Diverging {
        Eigen::VectorXf middle;  ///< [query]
        float limit = 1;
    };
    std::optional<Diverging> diverging;

    /// A cell that is marked in each row, and what the marks mean.
    struct Marks {
        struct Kind {
            QString name;  ///< "itself: 12 rows"
            QColor light, dark;
        };
        std::vector<Kind> kinds;
        std::vector<std::int64_t> columns;  ///< [query]; -1: none
        std::vector<std::size_t> kind_of;   ///< [query]
    };
    std::optional<Marks> marks;

    std::string view = "matrix", column = "weight";                           ///< of the table
    QString value_word = QStringLiteral("weight"), title, description, note;  ///< empty: a matrix view's
};

std::unique_ptr<Figure> matrix_figure(MatrixViewData);

}  // namespace headlight::figure
