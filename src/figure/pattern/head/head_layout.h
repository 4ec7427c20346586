// SPDX-License-Identifier: GPL-3.0-or-later
// Where the parts of a head view are: a pure function of the sizes of its labels and of the canvas.
#pragma once

#include <QRectF>
#include <QSizeF>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace headlight::figure {

/// y of the header's and legend's parts counts from the visible area's top and bottom (they stay while rows scroll).
struct HeadLayout {
    static constexpr double margin = 16;
    static constexpr double square_height = 18, square_pitch_y = 24;

    std::int64_t queries = 0, keys = 0, heads = 0;
    double row_height = 33, box_height = 26;
    double token_size = 14, number_size = 12;  ///< font px
    double left_x = margin, column_width = 104, key_width = 104;
    double line_x0 = 0, line_x1 = 0;       ///< ends of the lines
    double right_x = 0, number_right = 0;  ///< key boxes; right edge of the numbers
    double squares_x = 0, square_width = 24, square_pitch = 30;
    std::int64_t squares_per_line = 1;
    double header_height = 70, legend_height = 56;
    QSizeF size;

    double title_baseline() const { return 32; }
    double caption_baseline() const { return header_height - 8; }
    double row_y(std::int64_t row) const { return header_height + (static_cast<double>(row) + 0.5) * row_height; }
    double rows_bottom() const { return row_y(std::max(queries, keys)) - row_height / 2; }
    /// Row at a y of the content, -1 when there is none.
    std::int64_t row_at(double y, std::int64_t count) const;
    QRectF query_box(std::int64_t row) const { return {left_x, row_y(row) - box_height / 2, column_width, box_height}; }
    QRectF key_box(std::int64_t row) const { return {right_x, row_y(row) - box_height / 2, key_width, box_height}; }
    /// Of the box of a token: where the weights of several heads stand, each in its own part, below the text.
    QRectF strip(const QRectF& box) const;
    /// Relative to the visible area's top.
    QRectF square(std::int64_t head) const;
};

HeadLayout head_layout(const std::vector<double>& query_widths, const std::vector<double>& key_widths, std::int64_t heads,
                       double title_width, QSizeF available);

}  // namespace headlight::figure
