// SPDX-License-Identifier: GPL-3.0-or-later
// Ranges and ticks of a plot's axes: arithmetic, no painting.
#pragma once

#include "figure/plot/plot_data.h"

#include <cmath>

namespace headlight::figure::plot {

inline constexpr double tick_font = 11, axis_font = 12;

/// Maps a value to a place along an axis, in figure units.
struct Scale {
    double low = 0, high = 1;
    bool log = false;
    double begin = 0, end = 1;            ///< places of low and high
    ScaleEnds data{-HUGE_VAL, HUGE_VAL};  ///< what the range holds without the room around it
    double px(double value) const;        ///< NaN for values the axis cannot show
    double value(double px) const;
};

struct Tick {
    double value = 0;
    QString label;
    bool operator==(const Tick&) const = default;
};

/// About `count` multiples of 1, 2, 2.5 or 5 times a power of ten (1, 2 or 5 times, at least 1, where `integer`) within a
/// range. As many decimals as the step needs, a true minus sign, thousands with a comma.
std::vector<Tick> number_ticks(double low, double high, int count, bool integer = false);
/// Powers of ten; 2 and 5 times them where the axis spans few. All written out (0.01, 1,000) where the axis lies within
/// 0.001 to 10,000,000, else all as powers: never both on one axis.
std::vector<Tick> log_ticks(double low, double high, int count);
/// As many ticks as fit without one label touching the next; whole numbers across, such as layers, only as far as the data go.
std::vector<Tick> fitting_ticks(const Axis&, const Scale&, bool is_x);

/// What the range of an axis has to hold; without any data 0 to 1.
ScaleEnds axis_ends(const Panel&, bool is_x);
/// Range of an axis: of its data and references, with some room around them. Without any data 0 to 1.
Scale axis_scale(const Panel&, bool is_x);

/// Numbers are set in cells of equal width, other labels ("10⁴") as text.
bool is_number(const QString&);
double label_width(const QString&, const QFont&);

}  // namespace headlight::figure::plot
