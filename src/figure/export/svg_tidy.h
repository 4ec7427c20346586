// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

namespace headlight::figure {

/// Body of an SVG (the elements, without the svg element) from what Qt's generator wrote: empty groups and what repeats
/// the root's defaults left out, elements that stand alone without a group around, equal gradients once, and numbers
/// that were placed digit by digit as one text element with a list of x.
QString tidy_svg_body(const QString& generated);

}  // namespace headlight::figure
