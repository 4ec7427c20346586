// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/figure_canvas.h"

#include <vector>

namespace headlight::ui {

/// One mark that a canvas shows, with its place in the viewport.
struct FigureMark {
    figure::Hit hit;
    QRect area;
    QString name() const;  ///< the tip in one line: "L3H5, ·she (9) → ·nurse (5), weight 0.4312"
};

/// The marks in sight, at most some thousands: those that the figure lists, or what a pointer finds on its way over the canvas.
std::vector<FigureMark> marks_of(FigureCanvas&);

}  // namespace headlight::ui
