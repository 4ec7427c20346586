// SPDX-License-Identifier: GPL-3.0-or-later
// The frame of a plot: where its panels and scales are, and everything in it but the points, as QCustomPlot draws it.
#pragma once

#include "figure/plot/plot_data.h"
#include "figure/plot/recording.h"

namespace headlight::figure::plot {

/// From a value to a place along an axis, in figure units.
struct Scale {
    double low = 0, high = 1;
    bool log = false;
    double begin = 0, end = 1;      ///< where low and high are
    double px(double value) const;  ///< NaN for what the axis cannot show
    double value(double px) const;
};

struct PanelFrame {
    QRectF area;  ///< between the axes
    Scale x, y;
    draw::AxisFit labels;  ///< of the labels under the x axis, when it has some
    bool shows_labels = false;
    QPointF at(double vx, double vy) const { return {x.px(vx), y.px(vy)}; }
};

struct LegendEntry {
    QRectF area;
    std::size_t panel = 0, series = 0;
};

struct Frame {
    Recording axes;   ///< axes, grid, reference lines, legend
    Recording lines;  ///< lines, histograms and bars: they fade behind a subject
    std::vector<PanelFrame> panels;
    std::vector<LegendEntry> legend;
};

/// How many panels stand beside each other in a width.
std::size_t panels_across(const PlotData&, double width);
double legend_height(const PlotData&, double width);
/// Height of a plot that may choose it.
double natural_height(const PlotData&, double width);
/// In the application's thread only: QCustomPlot is a widget, made and thrown away in here.
Frame build_frame(const PlotData&, const QRectF& room, const Style&);
/// The same from any thread: a worker waits until the application's thread has made it; Error when that does not
/// answer.
Frame make_frame(const PlotData&, const QRectF& room, const Style&);

/// Pen of a line series.
QPen line_pen(const Series&, const Style&);

inline constexpr double tick_font = 11, axis_font = 12, panel_title_height = 24;

}  // namespace headlight::figure::plot
