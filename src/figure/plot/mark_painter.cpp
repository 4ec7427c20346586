// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/mark_painter.h"

#include "figure/core/saved_state.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure::plot {
namespace {

constexpr std::size_t marks_between_checks = 4096;  ///< whether the work is still wanted
constexpr double file_scale = 300.0 / 96;           ///< pixels a px of point clouds in vector files: 300 dpi

/// Its marks are points, or the dots of a line.
bool dotted(const Series& s) { return s.kind == Series::Kind::points || (s.kind == Series::Kind::line && s.marked); }

/// Marks of heads outside the filter are faint.
double filtered(const Style& style, const Series& s, std::size_t i) {
    const auto head = s.head_of(i);
    return head && style.dims(*head) ? dimmed_strength : 1;
}

}  // namespace

void draw_marker(QPainter& painter, Marker marker, QPointF at, double radius) {
    if (marker == Marker::disc)
        painter.drawEllipse(at, radius, radius);  // a circle in SVG
    else
        painter.drawPath(marker_path(marker, radius).translated(at));
}

MarkCounts count_marks(const PlotData& data) {
    MarkCounts counts;
    for (const Panel& panel : data.panels)
        for (const Series& s : panel.series) {
            counts.all += s.size();
            if (s.kind == Series::Kind::points) counts.points += s.size();
            if (s.kind == Series::Kind::line && s.marked) counts.dots += s.size();
        }
    return counts;
}

double MarkPainter::radius(const Series& s) const {
    if (s.radius > 0) return s.radius;
    if (s.kind == Series::Kind::line) return 2.5;
    return counts.points <= 400 ? 3.5 : counts.points <= 3'000 ? 2.75 : counts.points <= 20'000 ? 2 : 1.5;
}

double MarkPainter::strength(const Series& s) const {
    if (s.kind == Series::Kind::line) return s.strength;
    // Where points lie on each other, density must show.
    return s.strength * (counts.points <= 400 ? 0.9 : counts.points <= 3'000 ? 0.75 : counts.points <= 20'000 ? 0.6 : 0.45);
}

bool MarkPainter::as_pixels(const Canvas& c, const Series& s) const {
    const bool points = s.kind == Series::Kind::points;
    return dotted(s) &&
           ((c.keeps() && (points ? counts.points : counts.dots) > 400) || (points && counts.points > most_vector_points));
}

QImage MarkPainter::raster(const Canvas& c, const std::vector<MarkId>* only, const QRectF& area) const {
    const double scale = c.vector ? file_scale : c.scale;
    QImage image((area.size() * scale).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    Color last;
    double last_opacity = -1;
    QColor pixels;
    const auto put = [&](const Series& s, const PanelFrame& in, std::size_t i, double opacity) {
        if (opacity != last_opacity || !(s.color_of(i) == last)) {
            last = s.color_of(i), last_opacity = opacity;
            pixels = draw::faded(resolved(last, c.style), opacity);
        }
        if (i % marks_between_checks == 0) c.style.cancel.throw_if_cancelled();
        const QPointF at = place_of(in, s, i);
        if (!std::isfinite(at.x()) || !std::isfinite(at.y())) return;
        stamps.stamp(image, s.marker_of(i), radius(s) * scale, (at - area.topLeft()) * scale, pixels);
    };
    if (only) {
        for (const MarkId id : *only)
            if (series_of(data, id).kind == Series::Kind::points)
                put(series_of(data, id), frame.panels[static_cast<std::size_t>(id.panel)], static_cast<std::size_t>(id.mark),
                    std::max(0.8, strength(series_of(data, id))));
        return image;
    }
    for (std::size_t p = 0; p < data.panels.size(); ++p)
        for (const Series& s : data.panels[p].series)
            if (as_pixels(c, s))
                for (std::size_t i = 0; i < s.size(); ++i) put(s, frame.panels[p], i, strength(s) * filtered(c.style, s, i));
    return image;
}

void MarkPainter::paint_raster(const Canvas& c, const std::vector<MarkId>* only) const {
    const QRectF area = c.vector ? room : QRectF((room & c.visible).toAlignedRect());
    if (area.isEmpty()) return;
    const QImage image = raster(c, only, area);
    if (c.vector)
        c.painter.drawImage(area, image);
    else
        draw::device_image(c.painter, area.topLeft(), image);
}

void MarkPainter::paint_dots(const Canvas& c) const {
    const auto stamped = [&](const Panel& panel) {
        return std::ranges::any_of(panel.series, [&](const Series& s) { return as_pixels(c, s); });
    };
    if (std::ranges::any_of(data.panels, stamped)) paint_raster(c, nullptr);
    for (std::size_t p = 0; p < data.panels.size(); ++p)
        for (const Series& s : data.panels[p].series) {
            if (!dotted(s) || as_pixels(c, s)) continue;
            for (std::size_t i = 0; i < s.size(); ++i) {
                const QPointF at = place_of(frame.panels[p], s, i);
                if (!std::isfinite(at.x()) || !std::isfinite(at.y())) continue;
                c.painter.setPen(Qt::NoPen);
                c.painter.setBrush(draw::faded(resolved(s.color_of(i), c.style), strength(s) * filtered(c.style, s, i)));
                draw_marker(c.painter, s.marker_of(i), at, radius(s));
            }
        }
    c.painter.setBrush(Qt::NoBrush);
}

void MarkPainter::paint_subject_lines(const Canvas& c, const std::vector<MarkId>& marks) const {
    std::vector<const Series*> done;
    for (const MarkId id : marks) {
        const Series& s = series_of(data, id);
        const bool line = s.kind == Series::Kind::line || s.kind == Series::Kind::steps;
        if (!line || !s.head || std::find(done.begin(), done.end(), &s) != done.end()) continue;
        done.push_back(&s);
        const PanelFrame& in = frame.panels[static_cast<std::size_t>(id.panel)];
        QPen pen = line_pen(s, c.style);
        pen.setWidthF(s.width + 0.75);
        pen.setColor(resolved(s.color, c.style));
        if (s.kind == Series::Kind::steps) c.painter.fillPath(area_path(in, s), draw::faded(pen.color(), 0.12));
        c.painter.setPen(pen);
        c.painter.setBrush(Qt::NoBrush);
        draw_line(c.painter, line_path(in, s, c.pixel()), c.keeps());
    }
}

void MarkPainter::paint_subject_points(const Canvas& c, const std::vector<MarkId>& marks) const {
    std::vector<MarkId> points;
    std::copy_if(marks.begin(), marks.end(), std::back_inserter(points),
                 [this](MarkId id) { return series_of(data, id).kind == Series::Kind::points; });
    if (points.empty()) return;
    if (c.keeps() || points.size() > most_vector_points) return paint_raster(c, &points);
    for (const MarkId id : points) {
        const Series& s = series_of(data, id);
        const auto i = static_cast<std::size_t>(id.mark);
        c.painter.setPen(Qt::NoPen);
        c.painter.setBrush(draw::faded(resolved(s.color_of(i), c.style), std::max(0.8, strength(s))));
        draw_marker(c.painter, s.marker_of(i), place_of(frame.panels[static_cast<std::size_t>(id.panel)], s, i), radius(s));
    }
    c.painter.setBrush(Qt::NoBrush);
}

void MarkPainter::paint_subject(const Canvas& c, const std::vector<MarkId>& marks) const {
    paint_subject_lines(c, marks);
    paint_subject_points(c, marks);
}

void MarkPainter::paint(const Canvas& c, double opacity) const {
    const draw::SavedState saved(c.painter);
    c.painter.setOpacity(opacity);
    paint_lines(c.painter, data, frame, c.style, c.pixel());
    paint_dots(c);
}

}  // namespace headlight::figure::plot
