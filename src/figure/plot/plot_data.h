// SPDX-License-Identifier: GPL-3.0-or-later
// A plot with axes as a plain value: panels of series of marks. plot_figure() turns it into a figure, so that a new plot
// is only data. Made, laid out and painted in any thread.
#pragma once

#include "figure/core/draw.h"
#include "figure/core/own_scale.h"
#include "headlight/figure/core/figure.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headlight::figure::plot {

/// A colour by its meaning; theme and palette turn it into pixels.
struct Color {
    enum class Role {
        text,
        muted,
        faint,
        accent,
        positive,
        negative,
        head,          ///< of head `value`
        self_target,   ///< attends to itself: green (Claus' Attention Focus Plots)
        first_target,  ///< attends to the first token: purple
        ramp,          ///< the style's ramp at `value`, 0 to 1
        // Clark 2019's named colours (clarkkev/attention-analysis)
        clark_green,
        clark_sea,
        clark_blue,
        clark_purple,
        clark_red,
        clark_orange,
        clark_grey
    } role = Role::muted;
    double value = 0;
    bool operator==(const Color&) const = default;

    static Color of_head(Head h) { return {Role::head, static_cast<double>(h.value)}; }
};
QColor resolved(const Color&, const Style&);

enum class Marker { disc, square, triangle_up, triangle_right, triangle_left, letter_c, letter_s };

/// Marks of one kind. Each may name its head and tokens: then hovering and clicking it works as in any other view, and
/// the marks of the chosen head stand out.
struct Series {
    enum class Kind {
        points,
        line,     ///< from mark to mark; a NaN leaves a gap
        steps,    ///< outline of a histogram: counts y between the edges x, one more than counts
        bars,     ///< from 0 to y
        stacked,  ///< on top of (below) the stacked series before it
    } kind = Kind::points;
    QString name;  ///< in the legend; empty: not listed
    Color color;
    Marker marker = Marker::disc;
    bool marked = false;  ///< a line with a disc at every mark
    bool dashed = false;
    double strength = 1;  ///< opacity
    double width = 1.5;   ///< of lines, px
    double radius = 0;    ///< of points, px; 0: depends on their number
    std::vector<double> x, y;

    std::optional<HeadId> head;  ///< of all marks,
    std::vector<HeadId> heads;   ///< or of each
    std::vector<Position> queries, keys;
    std::vector<std::int64_t> dimensions;
    std::vector<Color> colors;  ///< of each mark, if they differ
    std::vector<Marker> markers;
    std::string option;  ///< of a hit, "cell": has the mark's number; empty: none

    std::function<QString(std::size_t)> tip;                   ///< "L3H5  magnitude 0.42"; x and y when there is none
    std::function<std::vector<Table::Cell>(std::size_t)> row;  ///< cells of PlotData::columns; x and y when there is none

    std::size_t size() const { return y.size(); }
    std::optional<HeadId> head_of(std::size_t i) const { return heads.empty() ? head : std::optional(heads[i]); }
    std::optional<Position> query_of(std::size_t i) const { return queries.empty() ? std::nullopt : std::optional(queries[i]); }
    std::optional<Position> key_of(std::size_t i) const { return keys.empty() ? std::nullopt : std::optional(keys[i]); }
    const Color& color_of(std::size_t i) const { return colors.empty() ? color : colors[i]; }
    Marker marker_of(std::size_t i) const { return markers.empty() ? marker : markers[i]; }
};

/// A line across the whole panel: zero, "uniform attention".
struct Reference {
    QString name;  ///< in the legend; empty: not listed
    double at = 0;
    Color color{Color::Role::faint};
    bool vertical = false, dashed = false;
};

struct Axis {
    QString label;                     ///< "update magnitude |u| / |h|"
    std::optional<double> low, high;   ///< default: those of the data
    std::optional<ScaleEnds> holds{};  ///< numbers that the range holds beside those of the data
    bool log = false;
    bool integer = false;                                              ///< ticks at whole numbers only: layers, tokens, counts
    bool from_zero = false;                                            ///< the range starts at exactly 0: bars, histograms
    bool tight = false;                                                ///< no room around the data
    std::vector<draw::Label> labels;                                   ///< of 0, 1, 2 …: tokens; thinned out, never overlapping
    enum class Stands { none, query, key } stands_for = Stands::none;  ///< which position of the text a whole number is
};

struct Panel {
    QString title;
    Axis x, y;
    std::vector<Series> series;
    std::vector<Reference> references;
    QString empty;             ///< the reason why no mark can be drawn, in place of axes
    bool equal_units = false;  ///< a unit is as long across as upwards: the range with more room grows
    /// Tip of a position on the x axis; used where no mark is near.
    std::function<QString(std::int64_t)> column_tip;
};

/// The meaning of a ramp of colours.
struct ColorScale {
    QString name, low, high;
};

struct PlotData {
    std::string view;  ///< "focus-4", "head-scatter"
    QString title, subtitle, description;
    QString note;  ///< under the panels: omissions, explanations of terms
    std::vector<Panel> panels;
    bool stacked_panels = false;  ///< under each other, even where there is room beside
    bool own_legends = false;     ///< each panel lists its own series beside its title; else one legend is above all
    /// The focused head is the subject: other marks are faint. Else it has a ring, and only a hover makes others faint.
    bool focus_fades = true;
    /// The focused head is also marked in files. False for overviews, whose command line does not name a head.
    bool focus_in_files = true;
    std::optional<ColorScale> scale;
    double aspect = 0.62;                             ///< height of a panel over its width where the canvas sets no height
    std::vector<std::string> columns;                 ///< of the table
    std::function<Table()> table;                     ///< in place of columns and rows of the series
    std::function<std::vector<NamedArray>()> arrays;  ///< x and y of every series when there is none
};

std::unique_ptr<Figure> plot_figure(PlotData);

/// "means over 12 texts"; empty for one text.
QString texts_words(std::int64_t texts);
/// The words that are not empty, joined by " · ".
QString joined_words(const QStringList&);

}  // namespace headlight::figure::plot
