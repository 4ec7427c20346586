// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QGlyphRun>
#include <QList>
#include <QString>

#include <optional>

namespace headlight::figure::draw {

// Shaping takes most of a frame's time, and a frame has most of its texts from the last one: each thread keeps some thousands of
// each of these. References are valid until the thread's next call.

/// One line of text, whose origin is the start of the baseline.
const QList<QGlyphRun>& shaped(const QString&, const QFont&);
/// QFontMetricsF::horizontalAdvance()
double shaped_width(const QString&, const QFont&);
/// QFontMetricsF::elidedText() at the right.
QString shaped_to_fit(const QString&, const QFont&, double width);
/// A number whose digits and signs all have the widest digit's room, so that columns line up.
struct ShapedNumber {
    double width = 0;
    QList<double> offsets{};         ///< of each character
    std::optional<QGlyphRun> run{};  ///< nothing where the font lacks a glyph
};
const ShapedNumber& shaped_number(const QString&, const QFont&);

}  // namespace headlight::figure::draw
