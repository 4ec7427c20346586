// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"

#include <functional>
#include <memory>
#include <vector>

namespace headlight::figure {

/// Figures under each other as one: names, table and arrays are the first one's unless given.
struct StackedParts {
    std::string view;
    QString title, description;
    std::vector<std::unique_ptr<Figure>> parts;
    std::function<Table()> table;
    std::function<std::vector<NamedArray>()> arrays;
    bool fits_first = false;  ///< the first one is laid out for the canvas's height
    bool across = false;      ///< beside each other where there is room
    QPointF inset = {0, 0};   ///< left of and above the first part, where its own margin is smaller than those of the others
    std::size_t opened = 0;   ///< a click opened this part and those behind it; 0: none
};
std::unique_ptr<Figure> stacked_figure(StackedParts);

}  // namespace headlight::figure
