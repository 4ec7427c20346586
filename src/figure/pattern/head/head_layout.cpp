// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/head/head_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double tallest_row = 33, lowest_row = 20;
constexpr double narrowest_gap = 120, widest_gap = 720;
constexpr double narrowest_column = 104, widest_column = 190;
constexpr double number_room = 46;

double column(const std::vector<double>& widths) {
    const double widest = widths.empty() ? 0 : *std::max_element(widths.begin(), widths.end());
    return std::clamp(std::ceil(widest) + 16, narrowest_column, widest_column);
}

}  // namespace

std::int64_t HeadLayout::row_at(double y, std::int64_t count) const {
    const double row = std::floor((y - header_height) / row_height);
    return row >= 0 && row < static_cast<double>(count) ? static_cast<std::int64_t>(row) : -1;
}

QRectF HeadLayout::square(std::int64_t head) const {
    const auto line = head / squares_per_line, place = head % squares_per_line;
    return {squares_x + static_cast<double>(place) * square_pitch_x, 18 + static_cast<double>(line) * square_pitch_y,
            square_width, square_height};
}

HeadLayout head_layout(const std::vector<double>& query_widths, const std::vector<double>& key_widths, std::int64_t heads,
                       double title_width, QSizeF available) {
    HeadLayout l;
    l.queries = std::ssize(query_widths);
    l.keys = std::ssize(key_widths);
    l.heads = heads;

    l.squares_x = std::ceil(HeadLayout::margin + title_width + 22);
    const double room = available.width() - HeadLayout::margin - l.squares_x;
    l.squares_per_line = std::clamp<std::int64_t>(
        static_cast<std::int64_t>((room + HeadLayout::square_pitch_x - HeadLayout::square_width) / HeadLayout::square_pitch_x), 4,
        std::max<std::int64_t>(heads, 4));
    const auto lines = std::max<std::int64_t>(1, (heads + l.squares_per_line - 1) / l.squares_per_line);
    l.header_height = 70 + static_cast<double>(lines - 1) * HeadLayout::square_pitch_y;

    const auto rows = static_cast<double>(std::max({l.queries, l.keys, std::int64_t{1}}));
    if (available.height() > 0) {
        const double height = available.height() - l.header_height - l.legend_height;
        l.row_height = std::clamp(std::floor(height / rows * 2) / 2, lowest_row, tallest_row);
    } else {  // as tall as it likes
        l.row_height = rows <= 24 ? 30 : rows <= 80 ? 24 : lowest_row;
    }
    l.box_height = l.row_height - (l.row_height > 26 ? 7 : l.row_height > 22 ? 4 : 2);
    l.token_size = l.row_height >= 26 ? 14 : 13;
    l.number_size = l.row_height >= 26 ? 12 : 11;

    l.column_width = column(query_widths) + 8;
    l.key_width = column(key_widths);
    const double fixed = 2 * HeadLayout::margin + l.column_width + 12 + l.key_width + number_room;
    // Half of the canvas for the lines; what is left stays empty on the right, as margin for numbers and notes.
    const double gap = std::clamp(std::min(available.width() - fixed, available.width() / 2), narrowest_gap, widest_gap);
    l.line_x0 = l.left_x + l.column_width + 6;
    l.line_x1 = std::round(l.line_x0 + gap);
    l.right_x = l.line_x1 + 6;
    l.number_right = l.right_x + l.key_width + number_room - 4;
    l.size = QSizeF(std::max(available.width(), l.number_right + HeadLayout::margin),
                    std::max(available.height(), l.rows_bottom() + l.legend_height));
    return l;
}

}  // namespace headlight::figure
