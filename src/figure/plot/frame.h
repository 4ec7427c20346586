// SPDX-License-Identifier: GPL-3.0-or-later
// The frame of a plot: places of its panels, scales, ticks, labels and legend. Laid out in any thread, for every style.
#pragma once

#include "figure/plot/axes.h"

#include <QPainterPath>

namespace headlight::figure::plot {

struct PanelFrame {
    QRectF area;  ///< between the axes
    Scale x, y;
    std::vector<Tick> x_ticks, y_ticks;
    draw::AxisFit labels;  ///< of the tokens under the x axis, if it has some
    bool shows_labels = false;
    double legend_height = 0;  ///< of its own legend, between title and area
    QPointF at(double vx, double vy) const { return {x.px(vx), y.px(vy)}; }
};

/// A tick label, an axis label or a name of the legend.
struct Word {
    QString text;
    QRectF box;  ///< of its capitals and digits: the baseline is the lower edge, the right edge where it reads upwards
    double size = 0;
    bool upwards = false;
};

struct LegendEntry {
    QRectF area, icon;
    std::size_t panel = 0;
    std::optional<std::size_t> series, reference;  ///< one of them
};

struct Frame {
    std::vector<PanelFrame> panels;
    std::vector<Word> words;
    std::vector<LegendEntry> legend;
};

inline constexpr double panel_title_height = 24;

/// How many panels stand beside each other in a room; a height of 0: as many as its width holds, else as large as they can be in
/// it.
std::size_t panels_across(const PlotData&, QSizeF room);
double legend_height(const PlotData&, double width);
/// Height of a plot that may choose it.
double natural_height(const PlotData&, double width);
/// The least and the greatest height in which panels of this many across are well drawn: the names of their axes fit, and none is
/// much taller than it is wide.
std::pair<double, double> height_limits(const PlotData&, double width, std::size_t across);
Frame lay_out(const PlotData&, const QRectF& room, std::size_t across);

/// Axes, grid, reference lines and legend.
void paint_axes(QPainter&, const PlotData&, const Frame&, const Style&);
/// Lines, histograms and bars.
void paint_lines(QPainter&, const PlotData&, const Frame&, const Style&, double pixel = 0);
/// A line or the outline of a histogram, cut off at the edges of its panel: SVG files of Qt have no clip. With the width of a
/// `pixel`, not more corners than can be seen.
QPainterPath line_path(const PanelFrame&, const Series&, double pixel = 0);
/// Draws what line_path() gives with the painter's pen; `in_pieces` on screen, where Qt draws a long opaque line twice as fast
/// so.
void draw_line(QPainter&, const QPainterPath&, bool in_pieces);
/// The area under a histogram's outline.
QPainterPath area_path(const PanelFrame&, const Series&);
QPen line_pen(const Series&, const Style&);

}  // namespace headlight::figure::plot
