// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/axis_words.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headlight::figure {

/// What a matrix view draws, free of the model it came from.
struct MatrixViewData {
    std::vector<HeadId> heads;             ///< one map each, side by side; empty where maps are not of single heads
    std::vector<QString> names;            ///< then: what each map is, "after layer 3", "mean of 8 heads"
    std::vector<analyze::Matrix> weights;  ///< of each: [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    AxisWords words;
    QString attention;  ///< which one of an encoder-decoder model
    bool causal = true;
    std::vector<std::int64_t> windows;  ///< of each map: how far a query sees, 0: no limit; empty: none has one
    QString weight_name = QStringLiteral("softmax weight");

    /// Signed numbers: colours run from orange over the canvas (at the row's middle) to blue, `limit` away on each
    /// side.
    struct Diverging {
        Eigen::VectorXf middle;  ///< [query]
        float limit = 1;
    };
    std::optional<Diverging> diverging;
    std::size_t signed_from = 0;  ///< with `diverging`: maps before it are weights on the style's ramp
    bool is_signed(std::size_t map) const { return diverging && map >= signed_from; }

    /// Of each map rows and columns that it does not have, and other maps do: hatched. What else is not finite is masked then.
    struct Absent {
        std::vector<bool> rows, columns;
        bool cell(std::int64_t row, std::int64_t column) const {
            return rows[static_cast<std::size_t>(row)] || columns[static_cast<std::size_t>(column)];
        }
    };
    std::vector<Absent> absent;
    QString signed_name = QStringLiteral("B − A");  ///< of the second scale, where only some maps are signed

    /// A cell that is marked in each row, and what the marks mean.
    struct Marks {
        struct Kind {
            QString name;  ///< "itself: 12 rows"
            QColor light, dark;
        };
        QString lead = QStringLiteral("row's largest on");  ///< before the kinds' names
        std::vector<Kind> kinds;
        std::vector<std::int64_t> columns;  ///< [query]; -1: none
        std::vector<std::size_t> kind_of;   ///< [query]
    };
    std::optional<Marks> marks;

    /// The export's, of `weights`; the cells of the maps when there is none.
    std::function<Table(const std::vector<analyze::Matrix>&)> table;
    std::string view = "matrix", column = "weight";  ///< of the table
    QString value_word = QStringLiteral("weight");
    QString title, description;          ///< empty: a matrix view's
    double full = 1;                     ///< the number that is drawn at full strength
    bool sums = false;                   ///< bars with the sums of rows and columns beside the maps
    std::vector<Eigen::VectorXf> sinks;  ///< of each map: [query] what goes to no key, a column beside the map; empty: none
    std::vector<std::string> notes;      ///< sentences for the legend
    QString name_of(std::size_t map) const { return map < names.size() ? names[map] : head_name(heads[map]); }
};

/// Of maps of a trace: all but the maps and their names.
MatrixViewData matrix_data(const trace::Trace&, const analyze::PatternOptions& = {});
std::unique_ptr<Figure> matrix_figure(MatrixViewData);

}  // namespace headlight::figure
