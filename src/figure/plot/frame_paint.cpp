// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/frame.h"
#include "figure/plot/mark_index.h"
#include "figure/plot/stamp.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headlight::figure::plot {

QPen line_pen(const Series& series, const Style& style) {
    const double strength = series.strength * (series.head && style.dims(*series.head) ? dimmed_strength : 1);
    QPen pen(draw::faded(resolved(series.color, style), strength), series.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
    // Ten colours repeat: the next ten heads are dashed, the ten after them dotted.
    const auto decade = series.color.role == Color::Role::head ? static_cast<int>(series.color.value) / 10 : 0;
    if (series.dashed || decade % 3 == 1) pen.setDashPattern({4, 3});
    if (decade % 3 == 2) pen.setDashPattern({1, 2});
    return pen;
}

namespace {

bool is_line(const Series& s) { return s.kind == Series::Kind::line || s.kind == Series::Kind::steps; }

QPen reference_pen(const Reference& reference, const Style& style) {
    QPen pen(resolved(reference.color, style), style.exporting ? 0.75 * 96 / 72 : 1, Qt::SolidLine, Qt::FlatCap);
    if (reference.dashed) pen.setDashPattern({4, 3});
    return pen;
}

/// A line across or upwards; crisp, since it covers whole device pixels. Where it is as wide as some of them it is filled as
/// such: smoothing takes longer than all else of the axes.
void draw_rule(QPainter& painter, QLineF line, const QPen& pen) {
    const QTransform device = painter.deviceTransform();
    painter.setPen(pen);
    if (draw::is_vector(painter) || device.m12() != 0 || device.m21() != 0) return painter.drawLine(line);
    const double scale = draw::device_scale(painter), wide = pen.widthF() * scale;
    const auto pixels = std::max(1L, std::lround(wide));
    const double half = static_cast<double>(pixels) / 2;
    const auto snapped = [&](double v, double from) {
        return ((pixels % 2 == 1 ? std::floor(v * scale + from) + 0.5 : std::round(v * scale + from)) - from) / scale;
    };
    const bool upwards = line.x1() == line.x2();
    if (upwards)
        line.translate(snapped(line.x1(), device.dx()) - line.x1(), 0);
    else
        line.translate(0, snapped(line.y1(), device.dy()) - line.y1());
    if (pen.style() != Qt::SolidLine || std::abs(wide - 2 * half) > 1e-6) return painter.drawLine(line);
    const double side = half / scale;
    const bool smooth = painter.testRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(QRectF(line.p1(), line.p2())
                         .normalized()
                         .adjusted(upwards ? -side : 0, upwards ? 0 : -side, upwards ? side : 0, upwards ? 0 : side),
                     pen.color());
    painter.setRenderHint(QPainter::Antialiasing, smooth);
}

void paint_panel_axes(QPainter& painter, const Panel& panel, const PanelFrame& frame, const Style& style) {
    if (!panel.empty.isEmpty()) return;
    const QRectF& area = frame.area;
    const QPen line = draw::hairline(style.theme->faint, style), quiet = draw::hairline(style.theme->line, style);
    const auto across = [&](double y, const QPen& pen) { draw_rule(painter, {area.left(), y, area.right(), y}, pen); };
    const auto upwards = [&](double x, const QPen& pen) { draw_rule(painter, {x, area.bottom(), x, area.top()}, pen); };
    const auto crosses_zero = [](const Axis& axis, const Scale& scale) {
        return scale.low < 0 && scale.high > 0 && !axis.integer && axis.labels.empty();
    };
    const bool zero_y = crosses_zero(panel.y, frame.y);
    for (const Tick& tick : frame.y_ticks) across(frame.y.px(tick.value), zero_y && tick.value == 0 ? line : quiet);
    if (crosses_zero(panel.x, frame.x)) upwards(frame.x.px(0), line);
    for (const Reference& r : panel.references) {
        const Scale& scale = r.vertical ? frame.x : frame.y;
        if (r.at < scale.low || r.at > scale.high) continue;
        (r.vertical ? upwards(scale.px(r.at), reference_pen(r, style)) : across(scale.px(r.at), reference_pen(r, style)));
    }
    across(area.bottom(), line);
    for (const Tick& tick : frame.x_ticks) {
        const double x = frame.x.px(tick.value);
        draw_rule(painter, {x, area.bottom(), x, area.bottom() + 4}, line);
    }
}

void paint_word(QPainter& painter, const Word& word, const QColor& color) {
    const QFont& font = ui_font(word.size);
    if (word.upwards) {
        painter.save();
        painter.translate(word.box.bottomRight());
        painter.rotate(-90);
        draw::text(painter, {0, 0}, word.text, font, color);
        painter.restore();
    } else if (is_number(word.text)) {
        draw::number(painter, word.box.bottomLeft(), word.text, font, color, draw::Align::left);
    } else {
        draw::text(painter, word.box.bottomLeft(), word.text, font, color);
    }
}

void paint_icon(QPainter& painter, const PlotData& data, const LegendEntry& entry, const Style& style) {
    const Panel& panel = data.panels[entry.panel];
    const QPointF middle = entry.icon.center();
    const QLineF line(entry.icon.left(), middle.y(), entry.icon.right(), middle.y());
    if (entry.reference) return draw_rule(painter, line, reference_pen(panel.references[*entry.reference], style));
    const Series& s = panel.series[*entry.series];
    if (is_line(s)) return draw_rule(painter, line, line_pen(s, style));
    QPainterPath shape = marker_path(s.marker, 3.5);
    if (s.kind != Series::Kind::points) shape = {}, shape.addRect(-4.5, -3.5, 9, 7);
    painter.fillPath(shape.translated(middle), draw::faded(resolved(s.color, style), s.strength));
}

/// The part of a line inside a box; null when it passes by.
QLineF inside(const QLineF& line, const QRectF& box) {
    double from = 0, to = 1;
    const auto cut = [&](double change, double room) {  // where change * t <= room
        if (change < 0)
            from = std::max(from, room / change);
        else if (change > 0)
            to = std::min(to, room / change);
        else if (room < 0)
            to = -1;
    };
    cut(-line.dx(), line.x1() - box.left()), cut(line.dx(), box.right() - line.x1());
    cut(-line.dy(), line.y1() - box.top()), cut(line.dy(), box.bottom() - line.y1());
    if (from > to) return {};
    return {from > 0 ? line.pointAt(from) : line.p1(), to < 1 ? line.pointAt(to) : line.p2()};
}

bool has_place(QPointF p) { return std::isfinite(p.x()) && std::isfinite(p.y()); }

/// Corners of a line or of a histogram's outline; NaN where it has a gap.
std::vector<QPointF> corners(const PanelFrame& frame, const Series& s) {
    std::vector<QPointF> out;
    if (s.kind != Series::Kind::steps) {
        for (std::size_t i = 0; i < s.size(); ++i) out.push_back(frame.at(s.x[i], s.y[i]));
        return out;
    }
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (i == 0) out.emplace_back(frame.x.px(s.x[i]), frame.area.bottom());
        const double y = frame.y.px(s.y[i]);
        out.emplace_back(frame.x.px(s.x[i]), y), out.emplace_back(frame.x.px(s.x[i + 1]), y);
    }
    if (!out.empty()) out.emplace_back(out.back().x(), frame.area.bottom());
    return out;
}

/// Of consecutive corners in one column of pixels the first, the highest, the lowest and the last.
std::vector<QPointF> seen_corners(const std::vector<QPointF>& all, double pixel) {
    std::vector<QPointF> out;
    const auto column = [&](std::size_t i) { return std::floor(all[i].x() / pixel); };
    for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        for (end = begin + 1; end < all.size() && has_place(all[begin]) && has_place(all[end]) && column(end) == column(begin);)
            ++end;
        const auto [high, low] =
            std::minmax_element(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end),
                                [](QPointF a, QPointF b) { return a.y() < b.y(); });
        std::set<std::size_t> kept{begin, end - 1, static_cast<std::size_t>(high - all.begin()),
                                   static_cast<std::size_t>(low - all.begin())};
        for (const std::size_t i : kept) out.push_back(all[i]);
    }
    return out;
}

}  // namespace

QPainterPath line_path(const PanelFrame& frame, const Series& s, double pixel) {
    std::vector<QPointF> points = corners(frame, s);
    if (pixel > 0 && static_cast<double>(points.size()) * pixel > frame.area.width()) points = seen_corners(points, pixel);
    const QRectF box = frame.area.adjusted(-1, -1, 1, 1);  // a line along the edge keeps its width
    QPainterPath path;
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (!has_place(points[i - 1]) || !has_place(points[i])) continue;
        const QLineF seen = inside({points[i - 1], points[i]}, box);
        if (seen.isNull()) continue;
        if (path.isEmpty() || path.currentPosition() != seen.p1()) path.moveTo(seen.p1());
        path.lineTo(seen.p2());
    }
    return path;
}

void draw_line(QPainter& painter, const QPainterPath& path, bool in_pieces) {
    constexpr int piece = 64;
    QPen pen = painter.pen();
    // Where pieces meet, a line that shows what is under it would be darker.
    in_pieces = in_pieces && pen.color().alpha() == 255 && pen.style() == Qt::SolidLine;
    if (!in_pieces || path.elementCount() <= 4 * piece) return painter.drawPath(path);
    pen.setJoinStyle(Qt::BevelJoin);  // of corners this close nobody sees how they are joined
    painter.setPen(pen);
    QPainterPath part;
    for (int i = 0; i < path.elementCount(); ++i) {
        const QPainterPath::Element at = path.elementAt(i);
        if (at.isMoveTo()) {
            part.moveTo(at);
            continue;
        }
        part.lineTo(at);
        if (part.elementCount() < piece) continue;
        painter.drawPath(part);
        part = QPainterPath(at);
    }
    painter.drawPath(part);
}

QPainterPath area_path(const PanelFrame& frame, const Series& s) {
    QPolygonF outline;
    for (const QPointF at : corners(frame, s))
        if (has_place(at))
            outline << QPointF(std::clamp(at.x(), frame.area.left(), frame.area.right()),
                               std::clamp(at.y(), frame.area.top(), frame.area.bottom()));
    QPainterPath path;
    path.addPolygon(outline);
    return path;
}

void paint_axes(QPainter& painter, const PlotData& data, const Frame& frame, const Style& style) {
    for (std::size_t p = 0; p < data.panels.size(); ++p) paint_panel_axes(painter, data.panels[p], frame.panels[p], style);
    for (const LegendEntry& entry : frame.legend) paint_icon(painter, data, entry, style);
    for (const Word& word : frame.words) paint_word(painter, word, style.theme->muted);
}

void paint_lines(QPainter& painter, const PlotData& data, const Frame& frame, const Style& style, double pixel) {
    for (std::size_t p = 0; p < data.panels.size(); ++p) {
        const Panel& panel = data.panels[p];
        for (std::size_t s = 0; s < panel.series.size(); ++s) {
            const Series& series = panel.series[s];
            style.cancel.throw_if_cancelled();
            if (series.kind == Series::Kind::points) continue;
            if (is_line(series)) {
                painter.setPen(line_pen(series, style));
                painter.setBrush(Qt::NoBrush);
                draw_line(painter, line_path(frame.panels[p], series, pixel), pixel > 0);
                continue;
            }
            const QColor color = draw::faded(resolved(series.color, style), series.strength);
            for (std::size_t i = 0; i < series.size(); ++i) {
                const double base = series.kind == Series::Kind::stacked ? stack_base(panel, s, i) : 0;
                const QRectF bar = bar_of(frame.panels[p], series, i, base) & frame.panels[p].area;
                if (!bar.isEmpty()) draw::box(painter, bar, 0, color);
            }
        }
    }
}

}  // namespace headlight::figure::plot
