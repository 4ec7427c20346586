// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of a map: title, legend, the crowd of points, and the matrix of heads.
#include "figure/core/draw.h"
#include "figure/core/parallel.h"
#include "figure/map/map_parts.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double file_dots = 600;  ///< per inch, for the crowd in vector files
constexpr double most_file_pixels = 60e6;
constexpr double crowd_strength = 0.55, disc_strength = 0.8, grey_strength = 0.22;
constexpr double hatch_step = 7;
constexpr double least_marked = 1.4;  ///< px of discs that stand out

/// "0.00", "−0.07": columns of cells are compared, so that digits have their places.
QString two_places(double value) {
    if (!std::isfinite(value)) return draw::number_text(value, 2);
    const double rounded = std::round(value * 100) / 100;
    return QString::number(rounded == 0 ? 0.0 : rounded, 'f', 2).replace(QLatin1Char('-'), QChar(0x2212));
}

/// If many points share a pixel, each has to be fainter, so that density is visible.
double strength_of(double points, double pixels, double radius) {
    if (radius >= 0.75) return disc_strength;
    return std::clamp(crowd_strength / (0.75 + points / std::max(pixels, 1.0)), 0.15, crowd_strength);
}

double image_scale(const QPainter& painter, double scale, const QRectF& room) {
    const double dots = painter.device() ? painter.device()->logicalDpiX() : 96;
    const double wanted = scale * file_dots / dots;
    return std::min(wanted, std::sqrt(most_file_pixels / std::max(1.0, room.width() * room.height())));
}

}  // namespace

void MapFigure::Parts::paint(const Frame& f) const {
    paint_head_lines(f);
    legend(&f);
    single() ? paint_single(f) : paint_matrix(f);
}

void MapFigure::Parts::paint_head_lines(const Frame& f) const {
    const QFont large = ui_font(15, QFont::DemiBold), small = ui_font(12), foot = ui_font(11);
    draw::text(f.painter, {map_margin, 32}, draw::elided(title(), large, size.width() - 2 * map_margin), large, f.theme().text);
    double y = 52;
    for (const QString& line : caption) {
        draw::text(f.painter, {map_margin, y}, line, small, f.theme().muted);
        y += 16;
    }
    y = size.height() - 8 - 16 * static_cast<double>(note.size() - 1);
    for (const QString& line : note) {
        draw::text(f.painter, {map_margin, y - 4}, line, foot, f.theme().muted);
        y += 16;
    }
}

double MapFigure::Parts::legend(const Frame* f) const {
    constexpr double row = 18;
    const QFont font = ui_font(11);
    const Theme& theme = f ? f->theme() : Theme::light();
    const MapLegend legend = map_legend(look.color, map, facts, single() ? &map.heads[shown()] : nullptr);
    const std::vector<QRgb> palette = map_palette(look.color, theme);
    const double end = size.width() - map_margin, first = room.top() - (single() ? 0 : 20) - 18 - legend_below;
    double x = map_margin, y = first;
    const auto fit = [&](double width) {
        if (x + width > end && x > map_margin) x = map_margin, y += row;
    };
    const auto words = [&](const QString& text) {
        if (f) draw::text(f->painter, {x, draw::centred_baseline(y, font)}, text, font, theme.muted);
        x += draw::text_width(text, font);
    };
    const auto disc = [&](std::size_t color, const QString& text) {
        fit(13 + draw::text_width(text, font));
        if (f) {
            f->painter.setPen(Qt::NoPen);
            f->painter.setBrush(QColor::fromRgb(palette[color]));
            f->painter.drawEllipse(QPointF(x + 4, y), 3.5, 3.5);
        }
        x += 13;
        words(text);
        x += 16;
    };
    for (const MapLegend::Entry& entry : legend.entries) disc(entry.color, entry.words);
    if (!legend.note.isEmpty()) {
        fit(draw::text_width(legend.note, font));
        words(legend.note);
        x += 16;
    }
    if (!legend.name.isEmpty()) {
        words(legend.name);
        x += 10;
        const auto ramp = [&](int begin, const QString& low, const QString& high) {
            constexpr double width = 84;
            const auto color = [&](double t) {
                return QColor::fromRgb(palette[static_cast<std::size_t>(begin + std::lround(t * (map_ramp_steps - 1)))]);
            };
            x += low.isEmpty() ? 0 : draw::number_width(low, font) + 5;
            if (f) draw::bar(f->painter, QRectF(x, y - 4, width, 8), color, low, high, theme);
            x += width + 5 + draw::number_width(high, font) + (high.isEmpty() ? 0 : 10);
        };
        if (legend.roles_apart) {
            ramp(0, legend.low, {});
            x += 1;
            ramp(map_ramp_steps, {}, legend.high);
            words(QStringLiteral("queries, keys"));
            x += 16;
        } else {
            ramp(0, legend.low, legend.high);
            x += 6;
        }
    }
    if (look.apart && std::ranges::find(facts.apart, 1) != facts.apart.end())
        disc(map_apart, QStringLiteral("first and special tokens"));
    if (look.marked)
        disc(map_grey,
             look.marked_words.isEmpty() ? QStringLiteral("others") : QStringLiteral("others than ") + look.marked_words);
    return y - first;
}

// --- points ---------------------------------------------------------------------------------------------------------

QRectF MapFigure::Parts::crowd_area() const { return single() ? room : matrix() & room; }

void MapFigure::Parts::paint_heads(QImage& image, double scale, const Style& style, bool front,
                                   const std::vector<std::size_t>& heads) const {
    const std::vector<QRgb> palette = map_palette(look.color, *style.theme);
    const CloudImage into{image.bits(), image.bytesPerLine()};
    const QRect whole(0, 0, image.width(), image.height());
    const QPointF from = crowd_area().topLeft();
    // A few that stand out are discs, however many the others are.
    double least = 0;
    if (front && !facts.text.empty()) {
        const auto marked = static_cast<std::size_t>(std::ranges::count(*look.marked, 1));
        if (marked * (points_on_screen() / facts.size()) <= most_discs) least = least_marked;
    }
    in_parallel(heads.size(), true, [&](std::size_t n) {
        const std::size_t i = heads[n];
        const QRectF at = cell(i);
        // Whole pixels, so that no two cells share one.
        const QRectF on = QRectF((at.topLeft() - from) * scale, at.size() * scale);
        const QRect area =
            QRect(QPoint(static_cast<int>(std::floor(on.left())), static_cast<int>(std::floor(on.top()))),
                  QPoint(static_cast<int>(std::ceil(on.right())) - 1, static_cast<int>(std::ceil(on.bottom())) - 1)) &
            whole;
        CloudView cloud = view(i);
        cloud.origin = (cloud.origin - from) * scale;
        cloud.scale *= scale;
        // Single: points beyond the box can be reached by zooming out.
        cloud.to_border = !single() || look.zoom <= 1;
        const double dots = std::max(least, radius(i, style.exporting) * (front ? 1.25 : 1)) * scale;
        const QRectF box = plane(i);
        CloudLook tone{palette, dots,
                       strength_of(static_cast<double>(facts.size()), box.width() * box.height() * scale * scale, dots)};
        if (look.marked && !front) tone.strength = std::min(tone.strength, grey_strength);
        const MapPlane& p = planes[i];
        std::vector<std::uint8_t> without_patches;  // which are faint themselves, so that discs would show through them
        if (thumbnail_side(i) > 0) {
            without_patches = colors(i, front);
            for (std::size_t k = 0; k < without_patches.size(); ++k)
                if (drawn_as_patch(i, k)) without_patches[k] = cloud_hidden;
        }
        const std::vector<std::uint8_t>& drawn = without_patches.empty() ? colors(i, front) : without_patches;
        paint_points({p.x, p.y, p.z, drawn, dots >= 1.2 && single() ? std::span<const float>(sizes) : std::span<const float>()},
                     cloud, tone, area, into);
    });
}

void MapFigure::Parts::paint_crowd(const Frame& f) const {
    const bool screen = !f.vector && !f.style.exporting;
    const QRectF on = crowd_area();
    const double scale = f.vector ? image_scale(f.painter, f.scale, on) : f.scale;
    const Kept wanted{scale, f.style.theme, f.style.filter};
    std::vector<std::size_t> heads;
    const bool all = kept != wanted;
    if (single()) {
        if (all || changed.contains(shown())) heads.push_back(shown());
    } else {
        for (std::size_t i = 0; i < map.heads.size(); ++i)
            if ((all || changed.contains(i)) && cell(i).intersects(room)) heads.push_back(i);
    }
    changed.clear();
    const QSize pixels(static_cast<int>(std::ceil(on.width() * scale)), static_cast<int>(std::ceil(on.height() * scale)));
    for (const bool front : {false, true}) {
        if (front && (!look.marked || f.vector)) continue;  // files have the marked points as shapes
        QImage& image = front ? crowd_front : crowd;
        if (image.size() != pixels) image = QImage(pixels, QImage::Format_ARGB32_Premultiplied);
        if (all) image.fill(Qt::transparent);
        paint_heads(image, scale, f.style, front, heads);
        if (screen)
            draw::device_image(f.painter, on.topLeft(), image);
        else
            f.painter.drawImage(QRectF(on.topLeft(), QSizeF(pixels) / scale), image);
    }
    kept = wanted;
}

// --- matrix ---------------------------------------------------------------------------------------------------------

void MapFigure::Parts::hatch(const Frame& f, const QRectF& box) const {
    draw::hatch(f.painter, box, hatch_step, draw::faded(f.theme().faint, 0.45));
}

void MapFigure::Parts::paint_cell(const Frame& f, std::size_t i) const {
    const map::HeadMap& head = map.heads[i];
    const HeadId id{head.layer, head.head};
    const QRectF at = cell(i);
    const bool chosen = f.selection.focus == id && !f.style.exporting;
    f.painter.setBrush(Qt::NoBrush);
    f.painter.setPen(chosen ? QPen(f.theme().accent, 2) : draw::hairline(f.theme().line, f.style));
    f.painter.drawRect(at);
    const double strip = number_strip(at.height());
    if (strip > 0) {
        const QFont font = ui_font(strip > 10 ? 10.5 : 8.5, head.poor.empty() ? QFont::DemiBold : QFont::Normal);
        const double y = draw::centred_baseline(at.top() + (strip > 10 ? 8 : 6), font);
        double free = at.width() - 8;
        if (look.spreads || is_measured(head)) {
            const QString words = two_places(look.spreads ? look.spreads->at(i) : double(head.faithfulness));
            draw::number(f.painter, {at.right() - 3, y}, words, font, head.poor.empty() ? f.theme().text : f.theme().muted);
            free -= draw::number_width(words, font) + 4;
        }
        const QFont small = ui_font(10.5);
        if (at.width() >= 84 && draw::text_width(head_name(id), small) <= free)
            draw::text(f.painter, {at.left() + 4, y}, head_name(id), small, f.theme().muted);
    }
    if (!head.poor.empty() && at.height() >= 130) {
        const QFont font = ui_font(10);
        const QRectF reason(at.left() + 1, at.bottom() - 16, at.width() - 2, 15);
        f.painter.fillRect(reason, draw::faded(f.theme().canvas, 0.85));
        draw::text(f.painter, {reason.left() + 3, draw::centred_baseline(reason.center().y(), font)},
                   draw::elided(QString::fromStdString(head.poor), font, reason.width() - 6), font, f.theme().muted);
    }
    if (head.iterations < head.iterations_wanted) {
        const double done = double(head.iterations) / head.iterations_wanted;
        f.painter.fillRect(QRectF(at.left(), at.bottom() - 2, at.width() * done, 2), f.theme().accent);
    }
}

void MapFigure::Parts::paint_matrix(const Frame& f) const {
    const QFont font = ui_font(11);
    const double s = side * look.zoom;
    const QPointF first = corner();
    // Labels that would touch are omitted.
    const auto every = [](double step, double needed) {
        return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(needed / step)));
    };
    const std::size_t columns_apart = every(s, draw::text_width(QStringLiteral("H00"), font) + 4), rows_apart = every(s, 14);
    for (std::size_t c = 0; c < columns.size(); c += columns_apart) {
        const double x = first.x() + s * static_cast<double>(c) + s / 2;
        if (x < room.left() || x > room.right()) continue;
        draw::text(f.painter, {x, room.top() - 7}, QStringLiteral("H%1").arg(columns[c].value), font, f.theme().muted,
                   draw::Align::center);
    }
    for (std::size_t r = 0; r < layers.size(); r += rows_apart) {
        const double y = first.y() + s * static_cast<double>(r) + s / 2;
        if (y < room.top() || y > room.bottom()) continue;
        draw::text(f.painter, {room.left() - 6, draw::centred_baseline(y, font)}, QStringLiteral("L%1").arg(layers[r].value),
                   font, f.theme().muted, draw::Align::right);
    }
    f.painter.save();
    f.painter.setClipRect(room.adjusted(-1, -1, 1, 1), Qt::IntersectClip);
    std::vector<std::size_t> seen;
    for (std::size_t i = 0; i < map.heads.size(); ++i)
        if (cell(i).intersects(room)) seen.push_back(i);
    for (const std::size_t i : seen)
        if (!map.heads[i].poor.empty()) hatch(f, cell(i));
    paint_crowd(f);
    if (f.vector && look.marked)
        for (const std::size_t i : seen) paint_marked(f, i);
    for (const std::size_t i : seen) {
        if (f.style.dims({map.heads[i].layer, map.heads[i].head}))
            f.painter.fillRect(cell(i), draw::faded(f.theme().canvas, 1 - dimmed_strength));
        paint_cell(f, i);
        paint_thumbnails(f, i);
        paint_guests(f, i);
        if (look.chosen) paint_ring(f, {i, look.chosen->point}, i == look.chosen->head);
        if (look.hovered && !f.style.exporting) paint_ring(f, {i, look.hovered->point}, i == look.hovered->head);
    }
    f.painter.restore();
}

}  // namespace headlight::figure
