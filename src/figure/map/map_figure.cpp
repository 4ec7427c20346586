// SPDX-License-Identifier: GPL-3.0-or-later
// Data of a map's picture, its layout, and hit tests.
#include "headlight/figure/map/map_figure.h"

#include "figure/core/draw.h"
#include "figure/core/parallel.h"
#include "figure/core/wrapped.h"
#include "figure/map/map_parts.h"
#include "headlight/base/error.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double row_labels = 34, column_labels = 20, map_gap = 4;  ///< of the matrix, px
constexpr double least_side = 14, most_side = 230;
constexpr double caption_line = 16, map_legend_height = 26, title_height = 42;
constexpr double axis_left = 56, axis_below = 44;
constexpr double tallest_page = 1.3;  ///< of a file's width: many layers of few heads fit on a sheet of paper
constexpr double pointer_reach = 7;   ///< px, of the pointer

void check(const map::QueryKeyMap& map) {
    const std::size_t points = map::point_count(map);
    for (const map::HeadMap& head : map.heads) {
        const bool right =
            (head.dims == 2 || head.dims == 3) && head.points.size() == points * static_cast<std::size_t>(head.dims);
        if (!right)
            throw Error(
                {.problem = "A head of the map has another number of points than its texts have queries and keys",
                 .item = head_name({head.layer, head.head}).toStdString(),
                 .expected = std::to_string(points) + " points of 2 or 3 numbers",
                 .found = std::to_string(head.points.size()) + " numbers for " + std::to_string(head.dims) + " dimensions"});
    }
    if (map.heads.empty()) throw Error("A map without heads cannot be drawn");
    if (points == 0) throw Error("A map without tokens cannot be drawn");
}

bool of_one_head(MapColor color) { return color == MapColor::norm || color == MapColor::trust; }

}  // namespace

MapFigure::Parts::Parts(map::QueryKeyMap given)
    : map((check(given), std::move(given))), facts(map_point_facts(map)), shares(map), thumbnails(map) {
    std::set<Layer> rows;
    std::set<Head> across;
    for (std::size_t i = 0; i < map.heads.size(); ++i) {
        index[{map.heads[i].layer, map.heads[i].head}] = i;
        rows.insert(map.heads[i].layer);
        across.insert(map.heads[i].head);
    }
    layers.assign(rows.begin(), rows.end());
    columns.assign(across.begin(), across.end());
    planes.resize(map.heads.size());
    in_parallel(planes.size(), true, [&](std::size_t i) { planes[i] = map_plane(map.heads[i], facts.apart); });
}

void MapFigure::Parts::set_head(std::size_t i, map::HeadMap head) {
    map.heads[i] = std::move(head);
    planes[i] = map_plane(map.heads[i], facts.apart);
    changed.insert(i);
    ++pictures;
    if (of_one_head(look.color) && i < own_colors.size()) color_head(i, own_colors[i]);
    if (single() && shown() == i) stale = true;
}

const std::vector<std::uint8_t>& MapFigure::Parts::colors(std::size_t head, bool front) const {
    return of_one_head(look.color) ? own_colors[head][front] : shared_colors[front];
}

void MapFigure::Parts::set_look(MapLook wanted) {
    const bool of_single = wanted.single.has_value();
    if (wanted.single && !index.contains(*wanted.single)) wanted.single.reset();
    if (wanted.spreads && wanted.spreads->size() != map.heads.size()) wanted.spreads.reset();  // of another map
    if (!wanted.single && map.heads.size() == 1) wanted.single = HeadId{map.heads[0].layer, map.heads[0].head};
    if (wanted.single.has_value() != of_single) {  // zoom and middle mean other things there
        wanted.zoom = 1;
        wanted.middle = wanted.single ? QPointF(0, 0) : QPointF(0.5, 0.5);
    }
    wanted.zoom = std::clamp(wanted.zoom, wanted.single ? 0.5 : 1.0, 200.0);
    // Changes that follow the pointer, rings and lines do not affect labels, colours and the crowd.
    MapLook without_pointer = wanted;
    without_pointer.chosen = look.chosen, without_pointer.hovered = look.hovered;
    without_pointer.lines = look.lines, without_pointer.guests = look.guests, without_pointer.lasso = look.lasso;
    const bool pointer_alone = without_pointer == look;
    const bool first = shared_colors[0].empty() && own_colors.empty();
    look = std::move(wanted);
    if (pointer_alone && !first) return;
    stale = true;
}

void MapFigure::Parts::color_head(std::size_t head, std::array<std::vector<std::uint8_t>, 2>& out) const {
    out[0] = map_classes(facts, map.heads[head], look);
    out[1].assign(out[0].size(), cloud_hidden);
    if (!look.marked) return;
    for (std::size_t p = 0; p < out[0].size(); ++p) {
        if (out[0][p] == cloud_hidden) continue;
        if ((*look.marked)[p])
            out[1][p] = out[0][p], out[0][p] = cloud_hidden;
        else
            out[0][p] = map_grey;
    }
}

void MapFigure::Parts::color_points() {
    own_colors.clear();
    if (!of_one_head(look.color)) return color_head(0, shared_colors);
    own_colors.resize(map.heads.size());
    in_parallel(own_colors.size(), !single(), [&](std::size_t i) {
        if (!single() || i == shown()) color_head(i, own_colors[i]);
    });
}

// --- places ---------------------------------------------------------------------------------------------------------

bool MapFigure::Parts::axes() const { return single() && map.projection == map::Projection::pca && map.heads[shown()].dims == 2; }

QSizeF MapFigure::Parts::layout(QSizeF available) {
    if (!stale && available == laid_out_for) return size;
    laid_out_for = available;
    const bool in_file = available.height() <= 0;
    const double width = std::floor(std::max(available.width(), in_file ? least_page : 240.0)), text = width - 2 * map_margin;
    caption = wrapped(map_caption(map), ui_font(12), text);
    note = {};
    if (single()) {
        caption += wrapped(head_words(), ui_font(12), text);
    } else {
        note = wrapped(
            (look.spreads ? QStringLiteral("The number of a cell is the spread of the highlighted points: the mean "
                                           "distance of two of them over that of any two points of their role.")
                          : QStringLiteral("The number of a cell is its faithfulness: the rank correlation of score and "
                                           "nearness among the keys of a query’s own %1, mean over queries with three or more.")
                                .arg(map.pictures ? QStringLiteral("picture") : QStringLiteral("text"))) +
                QStringLiteral(" A hatched cell is a poor picture of its head."),
            ui_font(11), text);
    }
    size.setWidth(width);
    legend_below = legend(nullptr);
    const double top = title_height + caption_line * static_cast<double>(caption.size()) + map_legend_height + legend_below + 8;
    const double below = note.isEmpty() ? 12 : 16 + caption_line * static_cast<double>(note.size());
    if (single()) {
        const double left = axes() ? axis_left : map_margin, foot = axes() ? axis_below : 0;
        const double across = width - left - map_margin;
        const double tall = in_file ? across * 0.8 : std::max(available.height() - top - foot - below, 120.0);
        room = QRectF(left, top, across, std::floor(tall));
        size = QSizeF(width, top + room.height() + foot + below);
    } else {
        const double across = width - row_labels - map_margin;
        const auto n = static_cast<double>(columns.size()), rows = static_cast<double>(layers.size());
        const double tall = in_file ? tallest_page * width : std::max(available.height() - top - column_labels - below, 60.0);
        side = std::clamp(std::min(across / n, tall / rows), least_side, most_side);
        if (!in_file) side = std::max(side, std::min(across / n, least_side));
        room = QRectF(row_labels, top + column_labels, across, in_file ? side * rows : tall);
        size = QSizeF(width, room.bottom() + below);
        if (!in_file) size.setHeight(available.height());
    }
    if (stale) color_points();
    stale = false;
    kept.reset();
    changed.clear();
    place_labels();
    return size;
}

QPointF MapFigure::Parts::corner() const {
    const double s = side * look.zoom;
    // Keeps the matrix in bounds: no empty area where a cell could be.
    const auto start = [](double from, double length, double content, double middle) {
        return content <= length ? from : std::clamp(from + length / 2 - middle * content, from + length - content, from);
    };
    return {start(room.left(), room.width(), s * static_cast<double>(columns.size()), look.middle.x()),
            start(room.top(), room.height(), s * static_cast<double>(layers.size()), look.middle.y())};
}

QRectF MapFigure::Parts::matrix() const {
    const double s = side * look.zoom;
    return {corner(), QSizeF(s * static_cast<double>(columns.size()), s * static_cast<double>(layers.size()))};
}

QRectF MapFigure::Parts::cell(std::size_t head) const {
    if (single()) return room;
    const auto row = std::ranges::lower_bound(layers, map.heads[head].layer) - layers.begin();
    const auto column = std::ranges::lower_bound(columns, map.heads[head].head) - columns.begin();
    const double s = side * look.zoom;
    const QPointF first = corner();
    return QRectF(first.x() + s * static_cast<double>(column), first.y() + s * static_cast<double>(row), s, s)
        .adjusted(0, 0, -map_gap, -map_gap);
}

QRectF MapFigure::Parts::plane(std::size_t head) const {
    const QRectF at = plane_with_border(head);
    const double half = thumbnail_side(head, 1) / 2;
    return half > 0 ? at.adjusted(half + 1, half + 1, -half - 1, -half - 1) : at;
}

QRectF MapFigure::Parts::plane_with_border(std::size_t head) const {
    const QRectF at = cell(head);
    if (single()) return at;
    const double pad = at.height() >= 30 ? 3 : 1, strip = number_strip(at.height());
    const QRectF inner = at.adjusted(pad, strip + pad, -pad, -pad);
    const double s = std::min(inner.width(), inner.height());
    return QRectF(inner.center().x() - s / 2, inner.center().y() - s / 2, s, s);
}

CloudView MapFigure::Parts::view(std::size_t head) const {
    const QRectF at = plane(head);
    CloudView view;
    view.scale = std::min(at.width(), at.height()) / 2;
    view.origin = at.center();
    if (single()) {
        view.scale *= look.zoom;
        view.origin += QPointF(-look.middle.x(), look.middle.y()) * view.scale;
    }
    if (!planes[head].z.empty()) view.turn = orbit_turn(look.yaw, look.pitch);
    return view;
}

std::optional<QPointF> MapFigure::Parts::in_sight(std::size_t head, QPointF at) const {
    return (single() ? room : cell(head) & room).adjusted(-1, -1, 1, 1).contains(at) ? std::optional(at) : std::nullopt;
}

std::optional<QPointF> MapFigure::Parts::place(std::size_t head, std::size_t point) const {
    const MapPlane& p = planes[head];
    if (std::isnan(p.x[point])) return std::nullopt;
    return in_sight(head, view(head).place(p.x[point], p.y[point], p.z.empty() ? 0 : p.z[point]));
}

std::optional<QPointF> MapFigure::Parts::place(std::size_t head, const float* point) const {
    const std::array<float, 3> p = planes[head].placed(point, map.heads[head].dims);
    if (!std::isfinite(p[0]) || !std::isfinite(p[1])) return std::nullopt;
    return in_sight(head, view(head).place(p[0], p[1], p[2]));
}

std::size_t MapFigure::Parts::points_on_screen() const {
    if (single()) return facts.size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < map.heads.size(); ++i) count += cell(i).intersects(room) ? facts.size() : 0;
    return count;
}

double MapFigure::Parts::radius(std::size_t head, bool in_file) const {
    if (!in_file && points_on_screen() > most_discs) return 0.5;
    const QRectF at = plane(head);
    const double area = std::min(at.width(), at.height()) * std::min(at.width(), at.height()) * (single() ? look.zoom : 1);
    return std::clamp(0.2 * std::sqrt(area / static_cast<double>(facts.size())), in_file ? 0.4 : 0.8, 4.0);
}

QString MapFigure::Parts::title() const {
    return single() ? QStringLiteral("Queries and keys of %1").arg(head_name(*look.single))
                    : QStringLiteral("Queries and keys of all heads");
}

QString MapFigure::Parts::head_words() const {
    const map::HeadMap& head = map.heads[shown()];
    QStringList words;
    const auto number = [&](const char* name, float value) {
        if (is_measured(head) && std::isfinite(value))
            words << QStringLiteral("%1 %2").arg(QLatin1String(name), draw::value_text(double(value), 2));
    };
    number("faithfulness", head.faithfulness);
    number("trustworthiness", head.trustworthiness);
    number("continuity", head.continuity);
    number("attention on the 10 nearest keys", head.attention_near);
    if (head.divergence > 0) number("divergence", head.divergence);
    if (head.scale_c != 1) words << QStringLiteral("c %1").arg(draw::value_text(double(head.scale_c), 2));
    if (head.iterations < head.iterations_wanted)
        words << QStringLiteral("%1 of %2 iterations").arg(head.iterations).arg(head.iterations_wanted);
    return words.join(QStringLiteral(" · "));
}

// --- the figure -----------------------------------------------------------------------------------------------------

MapFigure::MapFigure(map::QueryKeyMap map, MapLook look) : parts_(std::make_unique<Parts>(std::move(map))) {
    set_look(std::move(look));
}
MapFigure::~MapFigure() = default;

const map::QueryKeyMap& MapFigure::map() const { return parts_->map; }
const MapLook& MapFigure::look() const { return parts_->look; }
void MapFigure::set_look(MapLook look) { parts_->set_look(std::move(look)); }

std::optional<std::size_t> MapFigure::index_of(HeadId id) const {
    const auto found = parts_->index.find(id);
    return found == parts_->index.end() ? std::nullopt : std::optional(found->second);
}

void MapFigure::set_head(map::HeadMap head) {
    const auto i = index_of({head.layer, head.head});
    if (i && head.points.size() == parts_->facts.size() * static_cast<std::size_t>(head.dims))
        parts_->set_head(*i, std::move(head));
}

std::string MapFigure::view() const { return parts_->single() ? "map-head" : "map"; }
QSizeF MapFigure::layout(QSizeF available, const Style&, const Selection&) { return parts_->layout(available); }

void MapFigure::paint(QPainter& painter, const QRectF&, const Style& style, const Selection& selection) const {
    painter.save();
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    parts_->paint({painter, style, selection, draw::device_scale(painter), draw::is_vector(painter)});
    painter.restore();
}

QString MapFigure::title() const { return parts_->title(); }

QString MapFigure::description() const {
    return QStringLiteral(
        "Every query and every key of a head is a point; a query that attends to a key should stand near it. The rows are layers, "
        "the columns heads; each cell has its own scale, one for both axes, and points far outside stand on its border. Preset "
        "“scores” makes neighbours from the scores themselves over all texts, “balanced” and “cosine” from distances of scaled "
        "or moved vectors. Only principal components have axes with a meaning; in t-SNE and UMAP neighbourhoods count, "
        "not distances. Faithfulness says how well nearness in the picture orders a query’s keys as its scores do: 1 is the same "
        "order, 0 none, below 0 the opposite. After Yeh et al. 2023, AttentionViz: A Global View of Transformer Attention.");
}

QRectF MapFigure::room() const { return parts_->room; }
double MapFigure::cell_side() const { return parts_->side * parts_->look.zoom; }

std::optional<std::size_t> MapFigure::head_at(QPointF at) const {
    const Parts& p = *parts_;
    if (!p.room.contains(at)) return std::nullopt;
    if (p.single()) return p.shown();
    for (std::size_t i = 0; i < p.map.heads.size(); ++i)
        if (p.cell(i).contains(at)) return i;
    return std::nullopt;
}

std::optional<MapPoint> MapFigure::point_at(QPointF at) const {
    const auto head = head_at(at);
    if (!head) return std::nullopt;
    const Parts& p = *parts_;
    const CloudView view = p.view(*head);
    const MapPlane& plane = p.planes[*head];
    const std::array<const std::vector<std::uint8_t>*, 2> colors{&p.colors(*head, false), &p.colors(*head, true)};
    std::optional<MapPoint> best;
    const double far_enough = std::max(pointer_reach, p.thumbnail_side(*head) / 2);
    double nearest = far_enough * far_enough;
    for (std::size_t i = 0; i < plane.size(); ++i) {
        const bool front = p.look.marked && (*p.look.marked)[i];
        if (std::isnan(plane.x[i]) || (*colors[front])[i] == cloud_hidden) continue;
        const QPointF d = view.place(plane.x[i], plane.y[i], plane.z.empty() ? 0 : plane.z[i]) - at;
        // Among points at one position, the highlighted one wins.
        const double far = QPointF::dotProduct(d, d) - (front ? 4 : 0);
        if (far < nearest) nearest = far, best = MapPoint{*head, static_cast<std::int32_t>(i)};
    }
    return best;
}

std::vector<std::int32_t> MapFigure::points_in(const QPolygonF& polygon) const {
    std::vector<std::int32_t> inside;
    const Parts& p = *parts_;
    if (!p.single() || polygon.size() < 3) return inside;
    const QRectF box = polygon.boundingRect();
    const std::vector<std::uint8_t> colors = map_classes(p.facts, p.map.heads[p.shown()], p.look);
    for (std::size_t i = 0; i < p.facts.size(); ++i) {
        if (colors[i] == cloud_hidden) continue;
        const auto at = p.place(p.shown(), i);
        if (at && box.contains(*at) && polygon.containsPoint(*at, Qt::OddEvenFill))
            inside.push_back(static_cast<std::int32_t>(i));
    }
    return inside;
}

std::vector<std::uint8_t> MapFigure::drawn_points() const {
    if (!parts_->single()) return {};
    std::vector<std::uint8_t> drawn = map_classes(parts_->facts, parts_->map.heads[parts_->shown()], parts_->look);
    for (std::uint8_t& color : drawn) color = color == cloud_hidden ? 0 : 1;
    return drawn;
}

std::optional<QPointF> MapFigure::place_of(const MapPoint& point) const {
    if (parts_->single() && parts_->shown() != point.head) return std::nullopt;
    return parts_->place(point.head, static_cast<std::size_t>(point.point));
}

MapLook MapFigure::zoomed(double factor, QPointF about) const {
    MapLook look = parts_->look;
    const QPointF from = parts_->room.center();
    if (parts_->single()) {
        look.zoom = std::clamp(look.zoom * factor, 0.5, 200.0);
        const double before = std::min(parts_->room.width(), parts_->room.height()) / 2 * parts_->look.zoom;
        const double after = before * look.zoom / parts_->look.zoom;
        const QPointF off = about - from;
        look.middle += QPointF(off.x() * (1 / before - 1 / after), -off.y() * (1 / before - 1 / after));
        return look;
    }
    look.zoom = std::clamp(look.zoom * factor, 1.0, 60.0);
    const QRectF whole = parts_->matrix();
    const double ratio = look.zoom / parts_->look.zoom;
    const QPointF content = (about - whole.topLeft()) * ratio - (about - from);  // of the matrix, under the centre of the area
    look.middle = QPointF(content.x() / (whole.width() * ratio), content.y() / (whole.height() * ratio));
    return look;
}

MapLook MapFigure::moved(QPointF by) const {
    MapLook look = parts_->look;
    if (parts_->single()) {
        const double scale = std::min(parts_->room.width(), parts_->room.height()) / 2 * look.zoom;
        look.middle -= QPointF(by.x() / scale, -by.y() / scale);
        return look;
    }
    const QRectF whole = parts_->matrix();
    const QPointF content = parts_->room.center() - whole.topLeft() - by;
    look.middle = QPointF(std::clamp(content.x() / whole.width(), 0.0, 1.0), std::clamp(content.y() / whole.height(), 0.0, 1.0));
    return look;
}

MapLook MapFigure::around(HeadId id) const {
    const Parts& p = *parts_;
    MapLook look = p.look;
    look.single.reset();
    const auto place = [](const auto& all, auto one) {
        return (static_cast<double>(std::ranges::lower_bound(all, one) - all.begin()) + 0.5) / static_cast<double>(all.size());
    };
    look.middle = {place(p.columns, id.head), place(p.layers, id.layer)};
    look.zoom = std::max(1.0, 0.75 * std::min(p.room.width(), p.room.height()) / std::max(p.side, least_side));
    return look;
}

Hit MapFigure::hit_test(QPointF at, const Style&, const Selection&) const {
    Hit hit;
    const auto head = head_at(at);
    if (!head) return hit;
    const map::HeadMap& of = parts_->map.heads[*head];
    hit.head = HeadId{of.layer, of.head};
    if (const auto point = point_at(at)) {
        const MapToken token = map_token(parts_->map, point->point);
        hit.kind = token.key ? Hit::Kind::key : Hit::Kind::query;
        (token.key ? hit.key : hit.query) = token.position();
        hit.options = {{"point", std::to_string(point->point)}, {"text", std::to_string(token.text())}};
        hit.tip = map_point_words(parts_->map, of, point->point);
        const QPointF place = parts_->place(*head, static_cast<std::size_t>(point->point)).value_or(at);
        hit.area = QRectF(place.x() - 5, place.y() - 5, 10, 10);
        return hit;
    }
    if (parts_->single()) return hit;
    hit.kind = Hit::Kind::head;
    if (is_measured(of)) hit.value = double(of.faithfulness);
    hit.area = parts_->cell(*head);
    hit.tip = map_head_words(of);
    return hit;
}

std::optional<QRectF> MapFigure::place_of_head(HeadId id) const {
    const auto i = index_of(id);
    if (!i || (parts_->single() && parts_->shown() != *i)) return std::nullopt;
    return parts_->cell(*i);
}

}  // namespace headlight::figure
