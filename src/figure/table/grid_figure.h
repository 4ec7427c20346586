// SPDX-License-Identifier: GPL-3.0-or-later
// A matrix as a picture: square cells with names at two sides. grid_figure() turns plain data into a figure.
#pragma once

#include "headlight/figure/core/figure.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace headlight::figure {

struct GridData {
    std::string view;
    QString title, description, note;
    QString hint{};                 ///< what a click does, after the note; not in files
    QString row_word, column_word;  ///< "label", "predicted"
    std::vector<QString> rows, columns;
    std::vector<double> values;  ///< [row, column]; NaN: an empty cell
    bool is_signed = false;      ///< colours from -limit to limit; else the style's ramp from 0 to limit
    double limit = 1;
    QString value_word;                                           ///< under the scale: "share of the label"
    std::vector<QString> numbers{};                               ///< [row, column] in the cells, where all fit
    std::optional<std::pair<std::size_t, std::size_t>> chosen{};  ///< has a ring
    std::function<Hit(std::size_t row, std::size_t column)> hit;  ///< kind, tip and what a click sets
    std::function<Table()> table;
    std::function<std::vector<NamedArray>()> arrays;
};
std::unique_ptr<Figure> grid_figure(GridData);

}  // namespace headlight::figure
