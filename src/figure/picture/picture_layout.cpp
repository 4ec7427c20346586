// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/picture/picture_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

QRectF PictureLayout::picture(std::int64_t index) const {
    const auto column = static_cast<double>(index % columns), row = static_cast<double>(index / columns);
    return {margin + column * (panel.width() + gap), header + caption + row * (panel.height() + caption + gap), panel.width(),
            panel.height()};
}

QRectF PictureLayout::caption_of(std::int64_t index) const {
    const QRectF below = picture(index);
    return {below.left(), below.top() - caption, below.width(), caption};
}

PictureLayout picture_layout(std::int64_t panels, double aspect, QSizeF available) {
    PictureLayout best;
    double best_width = 0;
    const double wide = available.width() - 2 * PictureLayout::margin;
    const double high = available.height() - PictureLayout::header - PictureLayout::legend;
    const auto rows_of = [&](std::int64_t columns) { return (panels + columns - 1) / columns; };
    const auto widest_in = [&](std::int64_t columns) {
        return (wide - static_cast<double>(columns - 1) * PictureLayout::gap) / static_cast<double>(columns);
    };
    for (std::int64_t columns = 1; columns <= panels; ++columns) {
        const auto rows = static_cast<double>(rows_of(columns));
        double width = std::min(PictureLayout::widest, widest_in(columns));
        if (available.height() > 0) width = std::min(width, aspect * (high / rows - PictureLayout::caption - PictureLayout::gap));
        // A tie goes to fewer columns, but without a height in view everything may scroll: then to more.
        if (width < best_width + 0.5) continue;
        best_width = width;
        best.columns = columns;
    }
    if (available.height() <= 0 || best_width < PictureLayout::narrowest) {
        const double one = PictureLayout::narrowest + PictureLayout::gap;
        const auto fit =
            static_cast<std::int64_t>((wide + PictureLayout::gap) / (available.height() > 0 ? one : std::max(one, wide / 4 - 1)));
        best.columns = std::clamp<std::int64_t>(fit, 1, panels);
        best_width = std::min(PictureLayout::widest, widest_in(best.columns));
    }
    best_width = std::max(best_width, 40.0);
    best.rows = rows_of(best.columns);
    best.panel = {std::floor(best_width), std::floor(best_width / aspect)};
    const QRectF last = best.picture((best.rows - 1) * best.columns);
    best.size = {std::max(available.width(), 2 * PictureLayout::margin +
                                                 static_cast<double>(best.columns) * (best.panel.width() + PictureLayout::gap) -
                                                 PictureLayout::gap),
                 last.bottom() + PictureLayout::gap + PictureLayout::legend};
    return best;
}

}  // namespace headlight::figure
