// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/pattern/model/model_view_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

QRectF ModelLayout::cell_rect(HeadId id) const {
    const auto column = across ? id.layer.value : id.head.value, row = across ? id.head.value : id.layer.value;
    return {left + double(column) * pitch.width(), top + double(row) * pitch.height(), cell.width(), cell.height()};
}

QRectF ModelLayout::grid() const {
    return {left, top, double(columns() - 1) * pitch.width() + cell.width(), double(rows() - 1) * pitch.height() + cell.height()};
}

std::optional<HeadId> ModelLayout::head_at(QPointF point) const {
    const auto column = static_cast<std::int64_t>(std::floor((point.x() - left) / pitch.width()));
    const auto row = static_cast<std::int64_t>(std::floor((point.y() - top) / pitch.height()));
    if (column < 0 || column >= columns() || row < 0 || row >= rows()) return std::nullopt;
    const HeadId id = at(column, row);
    return cell_rect(id).contains(point) ? std::optional(id) : std::nullopt;
}

ModelLayout::Range ModelLayout::touching(const QRectF& area) const {
    const auto index = [](double x, double step) { return static_cast<std::int64_t>(std::floor(x / step)); };
    const double column = across ? pitch.height() : pitch.width(), row = across ? pitch.width() : pitch.height();
    const double head_from = across ? area.top() - top : area.left() - left,
                 head_to = head_from + (across ? area.height() : area.width());
    const double layer_from = across ? area.left() - left : area.top() - top,
                 layer_to = layer_from + (across ? area.width() : area.height());
    Range range;
    range.first_head = std::clamp<std::int64_t>(index(head_from, column), 0, heads);
    range.last_head = std::clamp<std::int64_t>(index(head_to, column), -1, heads - 1);
    range.first_layer = std::clamp<std::int64_t>(index(layer_from, row), 0, layers);
    range.last_layer = std::clamp<std::int64_t>(index(layer_to, row), -1, layers - 1);
    return range;
}

namespace {

/// Of a model of so many layers all heads are in sight first, however small; one zooms for more.
constexpr std::int64_t many_layers = 24;
constexpr double least_head_pitch = 14, least_of_many = 4, least_of_lines = 16;

/// `small`: cells as small as it takes to fit.
ModelLayout oriented(const ModelShape& shape, QSizeF available, bool across, bool small = false) {
    ModelLayout at;
    at.layers = shape.grid_layers();
    at.heads = shape.grid_heads();
    at.across = across;
    const bool groups = shape.group_size() > 1;
    at.left = across && groups ? 84 : 54;
    if (available.width() < 740) at.legend_height = 58;  // two lines
    at.top = !across && groups ? 96 : 80;
    const double room_x = available.width() - at.left - ModelLayout::margin;
    const double room_y = available.height() - at.top - at.legend_height - 12;
    double x = room_x / double(at.columns()), y = room_y / double(at.rows());
    if (available.height() <= 0) y = shape.lines ? x * 0.8 : x;
    if (shape.lines) {
        x = std::clamp(x, small ? least_of_many : least_of_lines, 300.0);
        // A line every 1.6 px at least, and neither ribbons nor towers.
        const double readable = std::min(double(std::max(shape.rows, shape.columns)) * 1.6 + 6, x * 1.4);
        const double least = small ? least_of_many : std::max({least_of_lines, x * 0.45, readable});
        y = std::clamp(y, least, x * (across ? 2 : 1.5));
    } else {
        x = y = std::clamp(std::min(x, y), small ? least_of_many : least_head_pitch, 420.0);
    }
    at.pitch = {x, y};
    const double gap = std::clamp(std::min(x, y) * 0.07, std::min(x, y) < 10 ? 0.5 : 1.0, 8.0);
    at.cell = {x - gap, y - gap};
    const QRectF grid = at.grid();
    at.width = std::max(available.width(), grid.right() + ModelLayout::margin);
    at.height = grid.bottom() + 12 + at.legend_height;
    return at;
}

}  // namespace

ModelLayout model_layout(const ModelShape& shape, QSizeF available) {
    ModelLayout down = oriented(shape, available, false);
    if (available.height() <= 0) return down;
    const auto fits = [&](const ModelLayout& at) { return at.width <= available.width() && at.height <= available.height(); };
    const auto readable = [&] {
        if (shape.layers <= shape.heads) return down;
        const ModelLayout across = oriented(shape, available, true);
        // Lines run from left to right: they stay in flat cells as long as these fit.
        if (shape.lines) return !fits(down) && fits(across) ? across : down;
        constexpr double worth_it = 1.25;
        return across.pitch.width() > worth_it * down.pitch.width() || (!fits(down) && fits(across)) ? across : down;
    };
    const ModelLayout at = readable();
    if (shape.layers < many_layers || fits(at)) return at;
    const ModelLayout small_down = oriented(shape, available, false, true), small_across = oriented(shape, available, true, true);
    const auto least = [](const ModelLayout& layout) { return std::min(layout.pitch.width(), layout.pitch.height()); };
    return least(small_across) > least(small_down) ? small_across : small_down;
}

QRectF layer_band(const ModelLayout& at, std::int64_t band) {
    const std::int64_t first = band * layers_of_band, last = std::min(first + layers_of_band, at.layers) - 1;
    if (first > last) return {};
    const double gap = at.pitch.width() - at.cell.width();
    return at.cell_rect({Layer{first}, Head{0}})
        .united(at.cell_rect({Layer{last}, Head{at.heads - 1}}))
        .adjusted(-gap / 2, -gap / 2, gap / 2, gap / 2);
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
