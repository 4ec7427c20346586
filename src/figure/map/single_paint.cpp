// SPDX-License-Identifier: GPL-3.0-or-later
// One head by itself: axes, labels that do not overlap, lines of attention, marked points and guests.
#include "figure/core/draw.h"
#include "figure/map/map_parts.h"
#include "figure/plot/axes.h"

#include <QPolygonF>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace headlight::figure {
namespace {

constexpr double label_size = 11, region_size = 12.5;
constexpr std::size_t most_labels = 220, most_regions = 14;
constexpr double crowd_cell = 6;  ///< px, of the counts that keep labels off the crowd
constexpr int most_covered = 2;   ///< points that a label may cover
constexpr double same_word_apart = 90;

/// Occupied rectangles.
class Taken {
public:
    bool free(const QRectF& box) const {
        return std::ranges::none_of(boxes_, [&](const QRectF& other) { return other.intersects(box); });
    }
    void take(const QRectF& box) { boxes_.push_back(box); }

private:
    std::vector<QRectF> boxes_;
};

/// Counts the points in a part of the area.
class Crowd {
public:
    explicit Crowd(const QRectF& room)
        : room_(room),
          columns_(static_cast<int>(room.width() / crowd_cell) + 1),
          rows_(static_cast<int>(room.height() / crowd_cell) + 1),
          counts_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_)) {}
    void add(QPointF at) {
        const int c = static_cast<int>((at.x() - room_.left()) / crowd_cell),
                  r = static_cast<int>((at.y() - room_.top()) / crowd_cell);
        if (c >= 0 && r >= 0 && c < columns_ && r < rows_) ++counts_[static_cast<std::size_t>(r * columns_ + c)];
    }
    int in(const QRectF& box) const {
        int sum = 0;
        const int c0 = std::max(0, static_cast<int>((box.left() - room_.left()) / crowd_cell));
        const int c1 = std::min(columns_ - 1, static_cast<int>((box.right() - room_.left()) / crowd_cell));
        const int r0 = std::max(0, static_cast<int>((box.top() - room_.top()) / crowd_cell));
        const int r1 = std::min(rows_ - 1, static_cast<int>((box.bottom() - room_.top()) / crowd_cell));
        for (int r = r0; r <= r1; ++r)
            for (int c = c0; c <= c1; ++c) sum += counts_[static_cast<std::size_t>(r * columns_ + c)];
        return sum;
    }

private:
    QRectF room_;
    int columns_, rows_;
    std::vector<int> counts_;
};

}  // namespace

void MapFigure::Parts::place_labels() {
    labels.clear(), region_labels.clear(), sizes.clear();
    if (!single()) return;
    const std::size_t head = shown();
    if (look.size_by_norm) {
        const auto [low, high] = map_norm_range(facts, map.heads[head]);
        for (const float norm : map.heads[head].norms)
            sizes.push_back(high > low ? 0.5F + 1.5F * std::clamp((norm - low) / (high - low), 0.0F, 1.2F) : 1.0F);
        if (sizes.size() != facts.size()) sizes.clear();
    }
    if (thumbnail_side(head) > 0) return;  // the patches say what the points are
    const std::vector<std::uint8_t> shown_points = map_classes(facts, map.heads[head], look);
    Taken taken;
    Crowd crowd_counts(room);
    std::vector<std::pair<std::int32_t, QPointF>> seen;
    std::vector<std::uint8_t> drawn(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (shown_points[i] == cloud_hidden) continue;
        drawn[i] = !facts.apart[i];
        if (const auto at = place(head, i)) {
            crowd_counts.add(*at);
            seen.emplace_back(static_cast<std::int32_t>(i), *at);
        }
    }
    const QRectF inside = room.adjusted(2, 2, -2, -2);
    if (look.region_labels && !look.marked) {
        const QFont font = ui_font(region_size, QFont::DemiBold);
        const RegionsOf wanted{head, pictures, look.yaw, look.pitch, {look.queries, look.keys, look.apart}};
        if (regions_of != wanted) {
            regions = map_regions(planes[head], view(head), drawn, most_regions);
            shares.count(drawn);
            name_regions(regions, shares);
            regions_of = wanted;
        }
        CloudView flat = view(head);
        flat.turn = CloudView().turn;  // regions are found on the turned plane
        for (const MapRegion& region : regions) {
            if (region.words.isEmpty()) continue;
            const double width = draw::text_width(region.words, font) + 10, height = 18;
            const QPointF at = flat.place(region.at[0], region.at[1], 0);
            const QRectF box(at.x() - width / 2, at.y() - height / 2, width, height);
            if (!inside.contains(box) || !taken.free(box)) continue;
            taken.take(box);
            region_labels.push_back({box, region.words});
        }
    }
    if (!look.token_labels) return;
    const auto stands_out = [&](std::int32_t i) { return look.marked && (*look.marked)[static_cast<std::size_t>(i)]; };
    std::ranges::sort(
        seen, {}, [&](const auto& s) { return std::pair(!stands_out(s.first), shuffled(static_cast<std::uint32_t>(s.first))); });
    const QFont font = ui_font(label_size);
    std::unordered_map<const QChar*, std::vector<QPointF>> same;
    // Points of the same token share its characters.
    const auto width_of = [&](const QString& text) {
        const auto [at, fresh] = widths.try_emplace(text.constData(), 0.0);
        if (fresh) at->second = draw::text_width(text, font);
        return at->second;
    };
    for (const auto& [i, at] : seen) {
        if (labels.size() >= most_labels) break;
        const bool strong = stands_out(i);
        if (look.marked && !strong) break;
        const QString& text = facts.text[static_cast<std::size_t>(i)];
        const QRectF box(at.x() + 5, at.y() - 8, width_of(text) + 2, 15);
        if (!inside.contains(box) || crowd_counts.in(box.adjusted(crowd_cell / 2, 0, 0, 0)) > most_covered || !taken.free(box))
            continue;
        auto& others = same[text.constData()];
        if (std::ranges::any_of(others, [&, at = at](QPointF o) { return QLineF(o, at).length() < same_word_apart; })) continue;
        others.push_back(at);
        taken.take(box);
        labels.push_back({i, QPointF(box.left(), draw::centred_baseline(at.y(), font))});
    }
}

void MapFigure::Parts::paint_single(const Frame& f) const {
    const map::HeadMap& head = map.heads[shown()];
    f.painter.save();
    f.painter.setClipRect(room.adjusted(-1, -1, 1, 1), Qt::IntersectClip);
    if (!head.poor.empty()) hatch(f, room);
    f.painter.restore();
    if (axes()) paint_axes(f);
    f.painter.save();
    f.painter.setClipRect(room.adjusted(-1, -1, 1, 1), Qt::IntersectClip);
    paint_crowd(f);
    if (f.vector && look.marked) paint_marked(f, shown());
    paint_thumbnails(f, shown());
    paint_lines(f);
    paint_labels(f);
    paint_guests(f, shown());
    if (head.dims == 3) paint_tripod(f);
    if (look.chosen) paint_ring(f, {shown(), look.chosen->point}, true);
    if (look.hovered && !f.style.exporting) paint_ring(f, {shown(), look.hovered->point}, true);
    if (look.lasso.size() > 1) {
        f.painter.setPen(QPen(f.theme().accent, 1.25));
        f.painter.setBrush(draw::faded(f.theme().accent, 0.1));
        f.painter.drawPolygon(QPolygonF(QList<QPointF>(look.lasso.begin(), look.lasso.end())));
    }
    f.painter.restore();
    f.painter.setBrush(Qt::NoBrush);
    f.painter.setPen(draw::hairline(f.theme().line, f.style));
    f.painter.drawRect(room);
    if (!head.poor.empty()) {
        const QFont font = ui_font(12, QFont::DemiBold);
        const QString words = draw::elided(QStringLiteral("A poor picture of this head: ") + QString::fromStdString(head.poor),
                                           font, room.width() - 24);
        const QRectF box(room.left() + 8, room.bottom() - 30, draw::text_width(words, font) + 12, 22);
        draw::box(f.painter, box, 4, draw::faded(f.theme().canvas, 0.9));
        draw::text(f.painter, {box.left() + 6, draw::centred_baseline(box.center().y(), font)}, words, font, f.theme().negative);
    }
}

void MapFigure::Parts::paint_axes(const Frame& f) const {
    const map::HeadMap& head = map.heads[shown()];
    const MapPlane& p = planes[shown()];
    const CloudView v = view(shown());
    const QFont font = ui_font(plot::tick_font), name = ui_font(plot::axis_font);
    const QPen quiet = draw::hairline(f.theme().line, f.style);
    const auto unit = [&](double px, bool x) {
        return double(p.middle[x ? 0 : 1]) + (x ? px - v.origin.x() : v.origin.y() - px) / v.scale * double(p.half);
    };
    const auto px = [&](double value, bool x) {
        const double u = (value - double(p.middle[x ? 0 : 1])) / double(p.half) * v.scale;
        return x ? v.origin.x() + u : v.origin.y() - u;
    };
    for (const plot::Tick& tick : plot::number_ticks(unit(room.left(), true), unit(room.right(), true), int(room.width() / 90))) {
        const double x = px(tick.value, true);
        f.painter.setPen(quiet);
        f.painter.drawLine(QPointF(x, room.top()), QPointF(x, room.bottom()));
        draw::number(f.painter, {x, room.bottom() + 16}, tick.label, font, f.theme().muted, draw::Align::center);
    }
    for (const plot::Tick& tick :
         plot::number_ticks(unit(room.bottom(), false), unit(room.top(), false), int(room.height() / 70))) {
        const double y = px(tick.value, false);
        f.painter.setPen(quiet);
        f.painter.drawLine(QPointF(room.left(), y), QPointF(room.right(), y));
        draw::number(f.painter, {room.left() - 6, draw::centred_baseline(y, font)}, tick.label, font, f.theme().muted);
    }
    const auto words = [&](std::size_t d) {
        QString text = QStringLiteral("PC %1").arg(d + 1);
        if (d < head.explained.size())
            text += QStringLiteral("  (%1 % of the variance)").arg(draw::number_text(100 * double(head.explained[d]), 1));
        return text;
    };
    draw::text(f.painter, {room.center().x(), room.bottom() + 36}, words(0), name, f.theme().text, draw::Align::center);
    f.painter.save();
    f.painter.translate(map_margin + 6, room.center().y());
    f.painter.rotate(-90);
    draw::text(f.painter, {0, 0}, words(1), name, f.theme().text, draw::Align::center);
    f.painter.restore();
}

/// The directions of the axes of a 3-D map.
void MapFigure::Parts::paint_tripod(const Frame& f) const {
    const map::HeadMap& head = map.heads[shown()];
    const auto turn = orbit_turn(look.yaw, look.pitch);
    const QPointF from(room.left() + 56, room.bottom() - (head.poor.empty() ? 50 : 78));
    const QFont font = ui_font(10.5);
    const auto along = [&](std::size_t d) { return QPointF(double(turn[0][d]), -double(turn[1][d])) * 30; };
    for (std::size_t d = 0; d < 3; ++d) {
        const double near = (double(turn[2][d]) + 1) / 2;
        f.painter.setPen(QPen(draw::faded(f.theme().muted, 0.35 + 0.65 * near), 1.25));
        f.painter.drawLine(from, from + along(d));
    }
    if (map.projection != map::Projection::pca) return;
    const auto length = [&](std::size_t d) { return std::hypot(along(d).x(), along(d).y()); };
    // The names of axes that point at the reader or away would lie on those of the others.
    std::array<std::size_t, 3> order{0, 1, 2};
    std::ranges::stable_sort(order, std::ranges::greater(), length);
    Taken taken;
    for (const std::size_t d : order) {
        QString words = QStringLiteral("PC %1").arg(d + 1);
        if (d < head.explained.size()) words += QStringLiteral(" %1 %").arg(std::lround(100 * head.explained[d]));
        const double wide = draw::text_width(words, font), aside = along(d).x() > 8 ? 0 : along(d).x() < -8 ? -wide : -wide / 2;
        const QPointF beside = from + along(d) * 1.25;
        QRectF box(beside.x() + aside, beside.y() - 7, wide, 14);
        box.moveLeft(std::max(box.left(), room.left() + 4));
        if (length(d) < 8 || !taken.free(box)) continue;
        taken.take(box);
        draw::text(f.painter, {box.left(), beside.y() + 4}, words, font, f.theme().muted);
    }
}

void MapFigure::Parts::paint_lines(const Frame& f) const {
    const QFont font = ui_font(label_size, QFont::DemiBold);
    Taken taken;
    for (const MapLine& line : look.lines) {
        const auto from = place(shown(), static_cast<std::size_t>(line.from)),
                   to = place(shown(), static_cast<std::size_t>(line.to));
        if (!from || !to) continue;
        const double weight = std::clamp(double(line.weight), 0.0, 1.0);
        QPen pen(draw::faded(line.neighbour ? f.theme().muted : f.theme().text, line.neighbour ? 0.7 : 0.25 + 0.75 * weight),
                 line.neighbour ? 1 : 1 + 2 * weight, Qt::SolidLine, Qt::RoundCap);
        if (line.neighbour) pen.setDashPattern({3, 3});
        f.painter.setPen(pen);
        f.painter.drawLine(*from, *to);
    }
    for (const MapLine& line : look.lines) {
        const auto to = place(shown(), static_cast<std::size_t>(line.to));
        if (!to) continue;
        const auto at = static_cast<std::size_t>(line.to);
        const QColor color = map_role_color(f.theme(), facts.key(at));
        f.painter.setPen(QPen(f.theme().canvas, 1));
        f.painter.setBrush(color);
        if (!drawn_as_patch(shown(), at)) f.painter.drawEllipse(*to, 4, 4);
        QString words = facts.text[at];
        if (!line.neighbour) words += QStringLiteral("  ") + draw::weight_text(double(line.weight));
        QRectF box(to->x() + 7, to->y() - 9, draw::text_width(words, font) + 8, 18);
        if (box.right() > room.right()) box.moveRight(to->x() - 7);
        if (!taken.free(box)) continue;
        taken.take(box);
        draw::box(f.painter, box, 3, draw::faded(f.theme().canvas, 0.85));
        draw::text(f.painter, {box.left() + 4, draw::centred_baseline(box.center().y(), font)}, words, font, f.theme().text);
    }
}

void MapFigure::Parts::paint_labels(const Frame& f) const {
    const QFont font = ui_font(label_size), region = ui_font(region_size, QFont::DemiBold);
    for (const TokenLabel& label : labels) {
        const auto i = static_cast<std::size_t>(label.point);
        const QColor color =
            facts.apart[i] ? f.theme().muted : draw::blended(map_role_color(f.theme(), facts.key(i)), f.theme().text, 0.35);
        draw::text(f.painter, label.baseline, facts.text[i], font, color);
    }
    for (const RegionLabel& label : region_labels) {
        draw::box(f.painter, label.box, 4, draw::faded(f.theme().canvas, 0.82));
        draw::text(f.painter, {label.box.center().x(), draw::centred_baseline(label.box.center().y(), region)}, label.words,
                   region, f.theme().text, draw::Align::center);
    }
}

/// Files: the marked points as shapes.
void MapFigure::Parts::paint_marked(const Frame& f, std::size_t head) const {
    const std::vector<QRgb> palette = map_palette(look.color, f.theme());
    const std::vector<std::uint8_t>& classes = colors(head, true);
    const double r = std::max(1.0, radius(head, true) * 1.25);
    f.painter.setPen(Qt::NoPen);
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (classes[i] == cloud_hidden) continue;
        const auto at = place(head, i);
        if (!at) continue;
        f.painter.setBrush(QColor::fromRgb(palette[classes[i]]));
        f.painter.drawEllipse(*at, r, r);
    }
    f.painter.setBrush(Qt::NoBrush);
}

void MapFigure::Parts::paint_guests(const Frame& f, std::size_t head) const {
    if (!look.guests || head >= look.guests->points.size()) return;
    const std::vector<float>& points = look.guests->points[head];
    const auto dims = static_cast<std::size_t>(map.heads[head].dims);
    const std::size_t count = points.size() / dims, tokens = look.guests->tokens.size();
    const double r = single() ? 5 : std::clamp(cell(head).width() / 40, 1.5, 4.0);
    const QFont font = ui_font(12, QFont::DemiBold);
    for (std::size_t i = 0; i < std::min(count, 2 * tokens); ++i) {
        const bool key = i >= tokens;
        if (!(key ? look.keys : look.queries)) continue;
        const auto at = place(head, points.data() + i * dims);
        if (!at) continue;
        f.painter.setPen(QPen(f.theme().text, single() ? 1.5 : 1));
        f.painter.setBrush(map_role_color(f.theme(), key));
        f.painter.drawEllipse(*at, r, r);
        if (!single()) continue;
        const QString words = map_token_text(look.guests->tokens[i % tokens]);
        const QRectF box(at->x() + 7, at->y() - 9, draw::text_width(words, font) + 6, 18);
        draw::box(f.painter, box, 3, draw::faded(f.theme().canvas, 0.8));
        draw::text(f.painter, {box.left() + 3, draw::centred_baseline(box.center().y(), font)}, words, font, f.theme().text);
    }
}

void MapFigure::Parts::paint_ring(const Frame& f, const MapPoint& point, bool strong) const {
    const auto i = static_cast<std::size_t>(point.point);
    if (i >= facts.size()) return;
    const auto at = place(point.head, i);
    if (!at) return;
    const bool patch = drawn_as_patch(point.head, i);
    const double r = patch ? thumbnail_side(point.head) / 2 + 2 : strong ? 6 : 4;
    f.painter.setBrush(Qt::NoBrush);
    for (const QPen& pen : {QPen(f.theme().canvas, 4), QPen(strong ? f.theme().text : f.theme().accent, 2)}) {
        f.painter.setPen(pen);
        if (patch)
            f.painter.drawRect(QRectF(at->x() - r, at->y() - r, 2 * r, 2 * r));
        else
            f.painter.drawEllipse(*at, r, r);
    }
    if (!strong) return;
    const QFont font = ui_font(12, QFont::DemiBold);
    const QString words = facts.text[i];
    QRectF box(at->x() + 9, at->y() - 25, draw::text_width(words, font) + 10, 19);
    if (box.right() > room.right()) box.moveRight(at->x() - 9);
    if (box.top() < room.top()) box.moveTop(at->y() + 9);
    draw::box(f.painter, box, 4, f.theme().panel, map_role_color(f.theme(), facts.key(i)));
    draw::text(f.painter, {box.left() + 5, draw::centred_baseline(box.center().y(), font)}, words, font, f.theme().text);
}

}  // namespace headlight::figure
