// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of a map's rows and columns, as bars with numbers beside and below it; or beside it what goes to no key.
#include "figure/pattern/matrix/matrix_figure.h"
#include "figure/pattern/matrix/matrix_panel.h"
#include "headlight/figure/core/fixed_text.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

namespace {

constexpr double sum_room = 34;  ///< px at the end of a strip for its numbers

/// Calls `bar` for [begin, end) cells with the first one, their number and the sum; thinner ones than a pixel are joined: the
/// longest of them is drawn.
template <class Bar>
void each_bar(std::int64_t begin, std::int64_t end, double cell, const Eigen::VectorXd& sums, const Bar& bar) {
    const auto joined = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(1 / cell)));
    for (std::int64_t i = begin; i < end; i += joined) {
        const std::int64_t count = std::min(joined, end - i);
        bar(i, count, sums.segment(i, count).maxCoeff());
    }
}

}  // namespace

void MatrixFigure::paint_sums(const Frame& f, const Panel& p) const {
    const Eigen::VectorXd& rows = row_sums_[p.index];
    const QFont font = ui_font(10);
    const double line = QFontMetricsF(font).height();
    const QColor fill = draw::faded(f.theme().accent, 0.45);
    // Shares of a whole are drawn as such.
    const double longest_row = data_.sums ? std::max(rows.maxCoeff(), 1e-12) : 1;
    const bool numbers = p.cell >= line;
    const double row_room = p.row_sums.width() - (numbers ? sum_room : 4), inset = p.cell > 4 ? 1 : 0;
    const auto thickness = [&](std::int64_t count) { return std::max(p.cell * static_cast<double>(count) - 2 * inset, 1.0); };
    f.painter.save();
    f.painter.setRenderHint(QPainter::Antialiasing, false);
    each_bar(p.row_begin, p.row_end, p.cell, rows, [&](std::int64_t i, std::int64_t count, double sum) {
        const QRectF bar(p.row_sums.left(), p.cell_rect(i, 0).top() + inset, sum / longest_row * row_room, thickness(count));
        f.painter.fillRect(bar & p.row_sums, fill);
    });
    f.painter.restore();
    if (numbers)
        for (std::int64_t i = p.row_begin; i < p.row_end; ++i) {
            const double y = p.cell_rect(i, 0).center().y();
            if (y < p.row_sums.top() || y > p.row_sums.bottom()) continue;
            const double x = p.row_sums.left() + rows[i] / longest_row * row_room + 4;
            draw::number(f.painter, {x, draw::centred_baseline(y, font)}, draw::fixed_text(rows[i], 2), font, f.theme().muted,
                         draw::Align::left);
        }
    const QFont caption = ui_font(11);
    draw::text(f.painter, {p.row_sums.left(), p.clip.top() - 6}, data_.sums ? QStringLiteral("row sums") : QStringLiteral("sink"),
               caption, f.theme().muted);
    if (!data_.sums) return;

    const Eigen::VectorXd& columns = column_sums_[p.index];
    const double longest_column = std::max(columns.maxCoeff(), 1e-12);
    f.painter.save();
    f.painter.setRenderHint(QPainter::Antialiasing, false);
    const bool flat = p.cell >= draw::number_width(QStringLiteral("0.00"), font) + 2;
    const double column_room = p.column_sums.height() - (flat ? line + 2 : 4);
    each_bar(p.col_begin, p.col_end, p.cell, columns, [&](std::int64_t i, std::int64_t count, double sum) {
        const QRectF bar(p.cell_rect(0, i).left() + inset, p.column_sums.top(), thickness(count),
                         sum / longest_column * column_room);
        f.painter.fillRect(bar & p.column_sums, fill);
    });
    f.painter.restore();
    if (flat)
        for (std::int64_t i = p.col_begin; i < p.col_end; ++i) {
            const double x = p.cell_rect(0, i).center().x();
            if (x < p.column_sums.left() || x > p.column_sums.right()) continue;
            const double y = p.column_sums.top() + columns[i] / longest_column * column_room + line;
            draw::number(f.painter, {x, y}, draw::fixed_text(columns[i], 2), font, f.theme().muted, draw::Align::center);
        }
    draw::text(f.painter, {p.row_strip.right(), p.column_sums.top() + 12}, QStringLiteral("column sums"), caption,
               f.theme().muted, draw::Align::right);
}

}  // namespace headlight::figure
