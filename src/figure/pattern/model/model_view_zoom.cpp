// SPDX-License-Identifier: GPL-3.0-or-later
// What appears in a cell of the model view as it grows: token labels, numbers, and what lies under the pointer.
#include "figure/pattern/model/model_view_frame.h"
#include "figure/pattern/neuron/neuron_view_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

void ModelFigure::paint_line_labels(Frame& frame, const QRectF& cell, const CellParts& parts) const {
    const double unit = frame.unit;
    const auto& selection = frame.selection;
    const auto column = [&](bool keys) {
        const auto& items = keys ? axes().keys : axes().queries;
        const auto count = std::ssize(items);
        const double height = parts.area.height() / double(count);
        const QRectF side = keys ? QRectF(parts.area.right(), 0, cell.right() - parts.area.right(), 0)
                                 : QRectF(cell.left(), 0, parts.area.left() - cell.left(), 0);
        for (std::int64_t i = 0; i < count; ++i) {
            const double top = parts.area.top() + double(i) * height;
            if (top + height < frame.target.top() || top > frame.target.bottom()) continue;
            const auto& item = items[static_cast<std::size_t>(i)];
            const auto hovered = keys ? selection.hover_key : selection.hover_query;
            const bool strong = frame.hover() && hovered && covers(item, *hovered);
            frame.at({side.left(), top}, [&] {
                const QRectF box(5, 0, side.width() / unit - 10, height / unit);
                draw::token(frame.painter, box, draw::label_in(items, static_cast<std::size_t>(i)), small_font(), frame.theme(),
                            keys ? draw::Align::left : draw::Align::right, strong ? frame.theme().accent : QColor());
            });
        }
    };
    column(false);
    column(true);
}

void ModelFigure::paint_map_labels(Frame& frame, const QRectF& cell, const CellParts& parts) const {
    QPainter& painter = frame.painter;
    const double unit = frame.unit;
    const QRectF shown = cell & frame.seen;
    if (shown.isEmpty()) return;
    // The labels stay in sight, like the frozen rows and columns of a table.
    const double left = std::max(cell.left(), frame.seen.left() + 26 * unit), column = parts.area.left() - cell.left();
    const double top = std::max(cell.top(), frame.seen.top() + 22 * unit), row = parts.area.top() - cell.top();
    const QRectF rows = QRectF(left, parts.area.top(), column, parts.area.height()) & shown;
    const QRectF columns = QRectF(parts.area.left(), top, parts.area.width(), row) & shown;
    const QColor veil = frame.theme().panel;
    painter.fillRect(QRectF(rows.left(), columns.top(), rows.width(), rows.bottom() - columns.top()), veil);
    painter.fillRect(QRectF(rows.left(), columns.top(), columns.right() - rows.left(), columns.height()), veil);

    const double row_height = parts.area.height() / double(shape().rows);
    const double column_width = parts.area.width() / double(shape().columns);
    const auto stride = [](double px) {
        for (const std::int64_t s : {1, 2, 5, 10, 20, 50, 100, 200, 500})
            if (px * double(s) >= 12) return s;
        return std::int64_t{1000};
    };
    const auto first = [](double from, double step, std::int64_t every) {
        return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(from / step)) / every * every);
    };
    const std::int64_t every_row = stride(row_height / unit), every_column = stride(column_width / unit);
    for (auto i = first(rows.top() - parts.area.top(), row_height, every_row); i < shape().rows; i += every_row) {
        const double y = row_middle(parts.area, i, shape().rows);
        if (y > rows.bottom()) break;
        if (y < std::max(rows.top(), columns.bottom())) continue;
        frame.at({rows.left(), y}, [&] {
            draw::token(painter, QRectF(4, -8, rows.width() / unit - 9, 16),
                        draw::label_in(axes().queries, static_cast<std::size_t>(i)), small_font(), frame.theme(),
                        draw::Align::right);
        });
    }
    for (auto j = first(columns.left() - parts.area.left(), column_width, every_column); j < shape().columns; j += every_column) {
        const double x = parts.area.left() + (double(j) + 0.5) * column_width;
        if (x > columns.right()) break;
        if (x < std::max(columns.left(), rows.right())) continue;
        frame.at({x, columns.top()}, [&] {
            draw::token_upwards(painter, QRectF(-8, 4, 16, columns.height() / unit - 9),
                                draw::label_in(axes().keys, static_cast<std::size_t>(j)), small_font(), frame.theme());
        });
    }
}

void ModelFigure::paint_numbers(Frame& frame, HeadId head, const QRectF& area) const {
    const auto* pattern = store_->pattern(head);
    if (!pattern) return;
    const QFont small = ui_font(10), large = ui_font(12);
    const double height = area.height() / double(shape().rows), width = area.width() / double(shape().columns);
    const double px = std::min(height, width) / frame.unit;
    const QRectF shown = area & frame.target;
    const auto index = [](double x, double step, std::int64_t count) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(x / step)), 0, count - 1);
    };
    const auto top = index(shown.top() - area.top(), height, shape().rows);
    const auto bottom = index(shown.bottom() - area.top(), height, shape().rows);
    const auto left = index(shown.left() - area.left(), width, shape().columns);
    const auto right = index(shown.right() - area.left(), width, shape().columns);
    const QFont& font = px >= 44 ? large : small;
    analyze::Vector row;
    for (auto i = top; i <= bottom; ++i) {
        row = pattern->row(i);
        const auto strength = apply(frame.style.transfer, row);
        for (auto j = left; j <= right; ++j) {
            const double weight = row[j];
            if (weight < 0.0005) continue;
            const QString text =
                px >= 44 ? draw::weight_text(weight) : QString::number(weight, 'f', 2).mid(weight < 0.995 ? 1 : 0, 3);
            const QColor back = ramp_color(frame.style.ramp, frame.theme(), strength[j]);
            frame.at({area.left() + (double(j) + 0.5) * width, area.top() + (double(i) + 0.5) * height}, [&] {
                draw::number(frame.painter, {0, draw::centred_baseline(0, font)}, text, font, text_on(frame.theme(), back),
                             draw::Align::center);
            });
        }
    }
}

void ModelFigure::pair_hit(Hit& hit, HeadId head, std::int64_t row, std::int64_t column) const {
    hit.kind = Hit::Kind::pair;
    if (!shape().is_together(head)) hit.head = head;
    hit.query = axes().queries[static_cast<std::size_t>(row)].first;
    hit.key = axes().keys[static_cast<std::size_t>(column)].first;
    hit.tip = QStringLiteral("%1  %2 → %3")
                  .arg(store_->data().name_of(head), query_name(words(), axes(), row), key_name(words(), axes(), column));
    if (const auto* pattern = store_->pattern(head)) {
        hit.value = (*pattern)(row, column);
        hit.tip += QStringLiteral("  weight %1").arg(fixed(*hit.value, 4));
    }
}

void ModelFigure::cell_hit(Hit& hit, QPointF point, HeadId head, const CellParts& parts) const {
    const auto row_at = [&](double y, std::int64_t count) {
        const auto i = static_cast<std::int64_t>(std::floor((y - parts.area.top()) / parts.area.height() * double(count)));
        return std::clamp<std::int64_t>(i, 0, count - 1);
    };
    if (shape().lines) {
        const bool keys = point.x() > parts.area.right();
        if (!keys && point.x() > parts.area.left()) return;
        const auto i = row_at(point.y(), keys ? shape().columns : shape().rows);
        hit.kind = keys ? Hit::Kind::key : Hit::Kind::query;
        (keys ? hit.key : hit.query) = (keys ? axes().keys : axes().queries)[static_cast<std::size_t>(i)].first;
        hit.tip = QStringLiteral("%1  %2").arg(store_->data().name_of(head),
                                               keys ? key_name(words(), axes(), i) : query_name(words(), axes(), i));
        return;
    }
    if (!parts.area.contains(point)) return;
    const auto column =
        static_cast<std::int64_t>(std::floor((point.x() - parts.area.left()) / parts.area.width() * double(shape().columns)));
    pair_hit(hit, head, row_at(point.y(), shape().rows), std::clamp<std::int64_t>(column, 0, shape().columns - 1));
}

Hit ModelFigure::hit_test(QPointF point, const Style& style, const Selection&) const {
    Hit hit;
    if (shape().rows == 0 || shape().columns == 0) return hit;
    if (options_.detail && !style.exporting) {
        const QRectF open = pane(style.zoom);
        if (open.contains(point)) {
            hit.head = options_.detail;
            hit.area = open;
            detail_hit(hit, (point - open.topLeft()) * style.zoom, open.size() * style.zoom);
            return hit;
        }
    }
    const double legend = std::min(at_.height, seen_.bottom()) - at_.legend_height / style.zoom;
    if (point.y() >= legend) {
        hit.kind = point.y() <= at_.height ? Hit::Kind::legend : Hit::Kind::none;
        hit.tip = style.transfer.legend();
        return hit;
    }
    const auto head = at_.head_at(point);
    if (!head) return hit;
    hit.area = at_.cell_rect(*head);
    hit.tip = store_->data().name_of(*head);
    if (shape().is_together(*head)) {
        hit.kind = Hit::Kind::legend;
    } else {
        hit.kind = Hit::Kind::head;
        hit.head = head;
        if (!style.exporting)
            hit.tip += options_.detail == head ? QStringLiteral("  click to close") : QStringLiteral("  click for detail");
    }
    const CellParts parts = cell_parts(shape(), hit.area, style.zoom);
    if (parts.labelled) cell_hit(hit, point, *head, parts);
    return hit;
}

}  // namespace headlight::figure
