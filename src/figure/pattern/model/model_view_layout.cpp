// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

QRectF ModelLayout::cell_rect(HeadId id) const {
    return {left + double(id.head.value) * pitch.width(), top + double(id.layer.value) * pitch.height(), cell.width(),
            cell.height()};
}

QRectF ModelLayout::grid() const {
    return {left, top, double(heads - 1) * pitch.width() + cell.width(), double(layers - 1) * pitch.height() + cell.height()};
}

std::optional<HeadId> ModelLayout::head_at(QPointF point) const {
    const auto head = static_cast<std::int64_t>(std::floor((point.x() - left) / pitch.width()));
    const auto layer = static_cast<std::int64_t>(std::floor((point.y() - top) / pitch.height()));
    if (head < 0 || head >= heads || layer < 0 || layer >= layers) return std::nullopt;
    const HeadId id{Layer{layer}, Head{head}};
    return cell_rect(id).contains(point) ? std::optional(id) : std::nullopt;
}

ModelLayout::Range ModelLayout::touching(const QRectF& area) const {
    const auto index = [](double x, double step) { return static_cast<std::int64_t>(std::floor(x / step)); };
    Range range;
    range.first_head = std::clamp<std::int64_t>(index(area.left() - left, pitch.width()), 0, heads);
    range.last_head = std::clamp<std::int64_t>(index(area.right() - left, pitch.width()), -1, heads - 1);
    range.first_layer = std::clamp<std::int64_t>(index(area.top() - top, pitch.height()), 0, layers);
    range.last_layer = std::clamp<std::int64_t>(index(area.bottom() - top, pitch.height()), -1, layers - 1);
    return range;
}

ModelLayout model_layout(const ModelShape& shape, QSizeF available) {
    ModelLayout at;
    at.layers = shape.grid_layers();
    at.heads = shape.grid_heads();
    at.left = 54;
    if (available.width() < 640) at.legend_height = 58;  // two lines
    at.top = shape.group_size() > 1 ? 96 : 80;
    const double room_x = available.width() - at.left - ModelLayout::margin;
    const double room_y = available.height() - at.top - at.legend_height - 12;
    double x = room_x / double(at.heads), y = room_y / double(at.layers);
    if (available.height() <= 0) y = shape.lines ? x * 0.8 : x;
    if (shape.lines) {
        x = std::clamp(x, 16.0, 300.0);
        // A line every 1.6 px at least, and neither ribbons nor towers.
        const double least = std::min(double(std::max(shape.rows, shape.columns)) * 1.6 + 6, x * 1.4);
        y = std::clamp(y, std::max({16.0, x * 0.45, least}), x * 1.5);
    } else {
        x = y = std::clamp(std::min(x, y), 14.0, 420.0);
    }
    at.pitch = {x, y};
    const double gap = std::clamp(std::min(x, y) * 0.07, 1.0, 8.0);
    at.cell = {x - gap, y - gap};
    const QRectF grid = at.grid();
    at.width = std::max(available.width(), grid.right() + ModelLayout::margin);
    at.height = grid.bottom() + 12 + at.legend_height;
    return at;
}

QRectF detail_rect(const QRectF& cell, QSizeF pane, const QRectF& canvas, double gap) {
    double x = cell.right() + gap;
    if (x + pane.width() > canvas.right() - gap) x = cell.left() - gap - pane.width();
    x = std::clamp(x, canvas.left() + gap, std::max(canvas.left() + gap, canvas.right() - gap - pane.width()));
    double y = cell.center().y() - pane.height() / 2;
    y = std::clamp(y, canvas.top() + gap, std::max(canvas.top() + gap, canvas.bottom() - gap - pane.height()));
    return {QPointF(x, y), pane};
}

QSizeF detail_size(const ModelShape& shape, double canvas_height) {
    using D = DetailSizes;
    if (!shape.lines) {
        const double side = std::clamp(canvas_height - 16 - D::heading - D::below_map, 120.0, 380.0);
        return {side + 2 * D::margin, side + D::heading + D::below_map};
    }
    const double most = double(std::max(shape.rows, shape.columns));
    const double row = std::clamp((canvas_height - 16 - D::heading - D::below_lines) / most, 9.0, 20.0);
    return {348, D::heading + row * most + D::below_lines};
}

QRectF detail_area(const ModelShape& shape, QSizeF pane) {
    using D = DetailSizes;
    const double side = shape.lines ? D::margin + D::column + 6 : D::margin;
    return {side, D::heading, pane.width() - 2 * side,
            pane.height() - D::heading - (shape.lines ? D::below_lines : D::below_map)};
}

CellParts cell_parts(const ModelShape& shape, const QRectF& cell, double zoom) {
    CellParts parts;
    const double width = cell.width() * zoom, height = cell.height() * zoom;
    if (shape.lines) {
        const double most = double(std::max(shape.rows, shape.columns));
        const double pad = std::min(3.0, height * 0.06) / zoom;
        parts.area = cell.adjusted(pad, pad, -pad, -pad);
        parts.row_px = parts.area.height() * zoom / most;
        parts.labelled = parts.row_px >= 10.5 && width >= 230;
        if (parts.labelled) {
            const double column = std::min(104.0, width * 0.3) / zoom;
            parts.area.adjust(column, 0, -column, 0);
        }
        return parts;
    }
    const double grown = std::clamp((std::min(width, height) - 240) / 120, 0.0, 1.0);
    const double inset = 72 * grown / zoom;
    parts.area = cell.adjusted(inset, inset, 0, 0);
    parts.labelled = grown >= 1;
    parts.row_px = parts.area.height() * zoom / double(shape.rows);
    return parts;
}

}  // namespace headlight::figure
