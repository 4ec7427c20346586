// SPDX-License-Identifier: GPL-3.0-or-later
// What every figure paints with: text, numbers, tokens, boxes, legends, axes. Sizes are figure units (px at zoom 1).
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/number_text.h"

#include <QFontMetricsF>

#include <array>
#include <functional>

namespace headlight::figure::draw {

enum class Align { left, center, right };

// --- the painter's target -------------------------------------------------------------------------------------------
/// SVG and PDF: text stays text, nothing is cached as pixels.
bool is_vector(const QPainter&);
/// Device pixels per figure unit.
double device_scale(const QPainter&);
/// The part of `exposed` that lies on the target (a band of a large export is smaller than `exposed`).
QRectF on_target(const QPainter&, const QRectF& exposed);
/// Blits an image whose pixels are device pixels with its top left corner at a point of the figure, snapped to the
/// pixel grid.
void device_image(QPainter&, QPointF top_left, const QImage&);
/// 1 px on screen, 0.5 pt in files.
QPen hairline(const QColor&, const Style&);

// --- text -----------------------------------------------------------------------------------------------------------
void text(QPainter&, QPointF baseline, const QString&, const QFont&, const QColor&, Align = Align::left);
double text_width(const QString&, const QFont&);
/// Cut with an ellipsis to a width.
QString elided(const QString&, const QFont&, double width);
/// Baseline that centres capitals and digits of a font on y.
double centred_baseline(double y, const QFont&);

/// "0.836"; three decimals, "0.000" never for a positive weight ("<0.001").
QString weight_text(double);
using figure::count_text;
using figure::number_text;
using figure::value_text;
/// Digits in cells of equal width, whatever the font's default digits are.
void number(QPainter&, QPointF baseline, const QString&, const QFont&, const QColor&, Align = Align::right);
double number_width(const QString&, const QFont&);

// --- tokens ---------------------------------------------------------------------------------------------------------
struct Label {
    QString continuation;  ///< "##", painted faintly before the text
    QString text;
    bool special = false;  ///< painted in the muted colour
    /// In a long text: painted small at the box's outer edge, where the token leaves room for it.
    std::int64_t position = 0;
    int digits = 0;  ///< of the text's last position, so that numbers stand in a column; 0: no position is painted
    /// "·doctor (13)"
    QString with_position(Position) const;
};
Label label_of(const analyze::AxisItem&);
Label label_of(const text::TokenLabel&);
Label label_of(const std::vector<text::TokenLabel>&, Position);
/// Of a row or column of an axis; with its position where the text is long (long_text).
Label label_in(const std::vector<analyze::AxisItem>&, std::size_t index);
Label label_in(const std::vector<text::TokenLabel>&, Position);
std::vector<Label> labels_in(const std::vector<analyze::AxisItem>&);
/// What positions add to the widths of an axis' labels in this font; 0 where the text is short.
double positions_width(const std::vector<analyze::AxisItem>&, const QFont&);
const QFont& position_font(const QFont& token);
/// A position beside tokens of this font.
void position_number(QPainter&, QPointF right_baseline, std::int64_t position, const QFont& token, const QColor&);
/// With its position.
double token_width(const Label&, const QFont&);
/// Inside a box, vertically centred, elided to its width. `color` invalid: text or muted by `special`.
void token(QPainter&, const QRectF& box, const Label&, const QFont&, const Theme&, Align, const QColor& color = {});
/// The same, reading upwards from the bottom of the box (column labels).
void token_upwards(QPainter&, const QRectF& box, const Label&, const QFont&, const Theme&, const QColor& color = {});

// --- shapes ---------------------------------------------------------------------------------------------------------
void box(QPainter&, const QRectF&, double radius, const QColor& fill, const QColor& stroke = {}, double stroke_width = 1);
/// `color` with an opacity 0..1.
QColor faded(QColor, double opacity);
/// What `over` with an opacity looks like on `under`.
QColor blended(const QColor& under, const QColor& over, double opacity);

// --- colour tables and legends --------------------------------------------------------------------------------------
std::array<QRgb, 256> ramp_table(Ramp, const Theme&);
/// A bar of colours with a number at each end, on one line; returns the x where the right number ends.
double bar(QPainter&, const QRectF& bar, const std::function<QColor(double t)>&, const QString& low, const QString& high,
           const Theme&);
/// What stands at the ends of a bar of strengths: the weights that are drawn so.
struct ScaleEnds {
    QString low = QStringLiteral("0"), high = QStringLiteral("1");
};
ScaleEnds scale_ends(const Transfer&);
/// "weight" where a mark is as strong as its weight, else "strength", which the transfer function makes of it.
QString amount_name(const Transfer&);
double ramp_bar(QPainter&, const QRectF& bar, Ramp, const QString& low, const QString& high, const Theme&);
/// From transparent to `color`: for opacity-coded lines and boxes.
double opacity_bar(QPainter&, const QRectF& bar, const QColor& color, const QString& low, const QString& high, const Theme&);
/// -limit .. 0 .. limit, the numbers below the bar; zero in the middle.
void signed_bar(QPainter&, const QRectF& bar, double limit, const Theme&);
/// Diagonal lines all over a box, `step` px apart: there is no number.
void hatch(QPainter&, const QRectF& box, double step, const QColor&);

// --- axes -----------------------------------------------------------------------------------------------------------
/// Which labels of an axis are shown, so that none overlaps another.
struct AxisFit {
    bool upwards = false;     ///< column labels turned by 90 degrees
    std::int64_t stride = 1;  ///< every stride-th label is shown, from 0
    double extent = 0;        ///< room that the labels need across the axis (elided to it)
    std::int64_t left_out(std::int64_t count) const { return count - (count + stride - 1) / stride; }
};
/// Column labels: flat when each fits its cell, else upwards, else thinned out to every 2nd, 3rd, 4th, 5th … 10th, 20th …
AxisFit fit_columns(const std::vector<double>& widths, double cell, double line_height, double most_extent);
/// Row labels: thinned out when a cell is lower than a line.
AxisFit fit_rows(const std::vector<double>& widths, double cell, double line_height, double most_extent);
/// "every 10th label shown, 1,234 left out"; empty when all are shown.
QString left_out_text(const AxisFit&, std::int64_t count);

// --- footer ---------------------------------------------------------------------------------------------------------
/// Height of the provenance lines under an exported figure of this width, and their painting.
double footer_height(const Provenance&, double width);
void footer(QPainter&, const QRectF&, const Provenance&, const Theme&);

}  // namespace headlight::figure::draw
