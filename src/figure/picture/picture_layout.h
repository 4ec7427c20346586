// SPDX-License-Identifier: GPL-3.0-or-later
// Where the panels of the picture view lie, in figure units.
#pragma once

#include <QRectF>
#include <QSizeF>

#include <cstdint>

namespace headlight::figure {

struct PictureLayout {
    static constexpr double margin = 16, gap = 18, caption = 24, legend = 64, header = 44;
    static constexpr double widest = 460, narrowest = 150;

    std::int64_t columns = 1, rows = 1;
    QSizeF panel;  ///< of the picture in a panel, without its caption
    QSizeF size;   ///< of everything

    /// The picture's place in a panel.
    QRectF picture(std::int64_t index) const;
    /// The line above it.
    QRectF caption_of(std::int64_t index) const;
};

/// As many columns as make the panels largest while all are in sight; else as many as fit, and the rest scrolls.
/// `aspect` is width over height.
PictureLayout picture_layout(std::int64_t panels, double aspect, QSizeF available);

}  // namespace headlight::figure
