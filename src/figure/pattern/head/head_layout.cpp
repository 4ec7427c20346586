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
constexpr std::int64_t fewest_squares = 4;  ///< in a line

struct Squares {
    double width, pitch;
    std::int64_t fit;  ///< in a line
};
/// As wide as their numbers look best in, or close together where that saves a line; lines of about one length.
Squares squares(std::int64_t heads, double room) {
    const auto of = [room](double width, double pitch) {
        return Squares{width, pitch,
                       std::max(fewest_squares, static_cast<std::int64_t>(std::floor((room + pitch - width) / pitch)))};
    };
    const auto lines = [heads](const Squares& s) { return std::max<std::int64_t>(1, (heads + s.fit - 1) / s.fit); };
    Squares chosen = of(24, 30);
    if (const Squares close = of(20, 23); heads <= 100 && lines(close) < lines(chosen)) chosen = close;  // two digits
    chosen.fit = std::max<std::int64_t>(1, (heads + lines(chosen) - 1) / lines(chosen));
    return chosen;
}

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
    return {squares_x + static_cast<double>(place) * square_pitch, 18 + static_cast<double>(line) * square_pitch_y, square_width,
            square_height};
}

QRectF HeadLayout::strip(const QRectF& box) const {
    // Rows that are close leave no room under the letters inside of their boxes.
    const double height = row_height > 26 ? 5 : 3, below = row_height > 26 ? 0 : 1;
    return {box.left(), box.bottom() + below - height, box.width(), height};
}

HeadLayout head_layout(const std::vector<double>& query_widths, const std::vector<double>& key_widths, std::int64_t heads,
                       double title_width, QSizeF available) {
    HeadLayout l;
    l.queries = std::ssize(query_widths);
    l.keys = std::ssize(key_widths);
    l.heads = heads;

    l.squares_x = std::ceil(HeadLayout::margin + title_width + 22);
    const double room = available.width() - HeadLayout::margin - l.squares_x;
    const Squares squares_fit = squares(heads, room);
    l.square_width = squares_fit.width;
    l.square_pitch = squares_fit.pitch;
    l.squares_per_line = squares_fit.fit;
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
