// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/plot_figure.h"

#include "figure/core/wrapped.h"
#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace headlight::figure::plot {

namespace {

constexpr double least_width = 200;
constexpr std::int64_t longest_plot_table = 4'000'000;

void check(const Series& s, const std::string& panel) {
    const std::size_t n = s.y.size(), edges = n + (s.kind == Series::Kind::steps && n > 0);
    const auto fits = [&](std::size_t size, std::size_t wanted) { return size == 0 || size == wanted; };
    const bool right = s.x.size() == edges && fits(s.heads.size(), n) && fits(s.queries.size(), n) && fits(s.keys.size(), n) &&
                       fits(s.dimensions.size(), n) && fits(s.colors.size(), n) && fits(s.markers.size(), n);
    if (!right)
        throw Error({.problem = "A series of a plot has lists of different lengths",
                     .item = panel + " / " + s.name.toStdString(),
                     .expected = std::to_string(edges) + " places on the x axis",
                     .found = std::to_string(s.x.size())});
}

}  // namespace

QString texts_words(std::int64_t texts) {
    return texts > 1 ? QStringLiteral("means over %1 texts").arg(draw::count_text(texts)) : QString();
}

QString joined_words(const QStringList& words) {
    QStringList said = words;
    said.removeAll(QString());
    return said.join(QStringLiteral(" · "));
}

std::unique_ptr<Figure> plot_figure(PlotData data) { return std::make_unique<PlotFigure>(std::move(data)); }

PlotFigure::PlotFigure(PlotData data) : held_(std::make_shared<PlotData>(std::move(data))), counts_(count_marks(data_)) {
    for (const Panel& panel : data_.panels)
        for (const Series& s : panel.series) check(s, panel.title.toStdString());
}

std::vector<ScaleEnds> PlotFigure::scale_ends() const {
    std::vector<ScaleEnds> ends;
    for (const Panel& panel : data_.panels)
        for (const bool is_x : {true, false}) ends.push_back(axis_ends(panel, is_x));
    return ends;
}

/// Before it is shown: no job paints its marks yet.
void PlotFigure::widen(const std::vector<ScaleEnds>& ends) {
    auto next = ends.begin();
    for (Panel& panel : data_.panels)
        for (Axis* axis : {&panel.x, &panel.y}) axis->holds = *next++;
    available_.reset();
}

QSizeF PlotFigure::layout(QSizeF available, const Style&, const Selection&) {
    if (available_ == available) return size_;  // another pin moves nothing
    available_ = available;
    const double width = std::floor(std::max(available.width(), least_width)), text = width - 2 * margin;
    subtitle_ = wrapped(data_.subtitle, ui_font(12), text);
    note_ = wrapped(data_.note, ui_font(11), text);
    const double head = title_height + line_height * static_cast<double>(subtitle_.size()) + (data_.scale ? 26 : 0) + 6;
    const double foot = (note_.isEmpty() ? 8 : 14) + line_height * static_cast<double>(note_.size());
    const double room = width - 16;
    const double free = available.height() > 0 ? std::max(available.height() - head - foot, 1.0) : 0;
    const std::size_t across = panels_across(data_, {room, free > 0 ? std::max(free - legend_height(data_, room), 1.0) : 0});
    double height = natural_height(data_, room);
    // As tall as the canvas, but no flatter than can be read: then it scrolls.
    if (free > 0) {
        const auto [least, most] = height_limits(data_, room, across);
        height = std::clamp(free, least, std::max(most, height));
    }
    room_ = QRectF(8, head, room, std::floor(height));
    size_ = QSizeF(width, std::ceil(head + room_.height() + foot));
    frame_ = lay_out(data_, room_, across);
    index_ = MarkIndex(data_, frame_);
    kept_ = std::make_shared<Kept>();
    waiting_.reset();
    return size_;
}

// --- subject --------------------------------------------------------------------------------------------------------

PlotFigure::Subject PlotFigure::subject(const Style& style, const Selection& selection) const {
    Subject out;
    const bool hovers = !style.exporting;
    if (hovers || data_.focus_in_files) out.head = selection.focus;
    if (hovers && selection.hover_head) out.head = selection.hover_head;
    out.query = hovers                             ? selection.query()
                : selection.pinned_queries.empty() ? std::nullopt
                                                   : std::optional(selection.pinned_queries.back());
    out.key = hovers                          ? selection.key()
              : selection.pinned_keys.empty() ? std::nullopt
                                              : std::optional(selection.pinned_keys.back());
    const bool chosen = data_.focus_fades || (hovers && selection.hover_head);
    out.fades = chosen && out.head && !index_.of_head(*out.head).empty();
    return out;
}

// --- hits -----------------------------------------------------------------------------------------------------------

Hit PlotFigure::hit_of(MarkId id) const {
    const Series& s = series_of(id);
    const auto i = static_cast<std::size_t>(id.mark);
    const auto p = static_cast<std::size_t>(id.panel);
    const PanelFrame& frame = frame_.panels[p];
    Hit hit;
    hit.head = s.head_of(i), hit.query = s.query_of(i), hit.key = s.key_of(i);
    if (!s.dimensions.empty()) hit.dimension = s.dimensions[i];
    if (!s.option.empty()) hit.options = {{s.option, std::to_string(i)}};
    using Kind = Hit::Kind;
    const int positions = (hit.query ? 1 : 0) + (hit.key ? 1 : 0);
    hit.kind = positions == 2 || (positions == 1 && hit.head) ? Kind::pair
               : hit.query                                    ? Kind::query
               : hit.key                                      ? Kind::key
               : hit.head                                     ? Kind::head
               : hit.dimension >= 0                           ? Kind::dimension
                                                              : Kind::legend;
    hit.value = s.y[i];
    const double base = s.kind == Series::Kind::stacked ? stack_base(data_.panels[p], static_cast<std::size_t>(id.series), i) : 0;
    const bool dot = s.kind == Series::Kind::points || s.kind == Series::Kind::line;
    const QPointF at = place_of(frame, s, i);
    hit.area = dot ? QRectF(at.x() - 5, at.y() - 5, 10, 10) : bar_of(frame, s, i, base);
    if (s.tip) {
        hit.tip = s.tip(i);
    } else {
        const Panel& panel = data_.panels[p];
        hit.tip = QStringLiteral("%1%2 %3  %4 %5")
                      .arg(s.name.isEmpty() ? QString() : s.name + QStringLiteral("  "), panel.x.label,
                           draw::number_text(s.x[i], panel.x.integer ? 0 : 4), panel.y.label,
                           draw::number_text(s.y[i], panel.y.integer ? 0 : 4));
    }
    return hit;
}

Hit PlotFigure::column_hit(std::size_t p, QPointF point) const {
    const Panel& panel = data_.panels[p];
    const PanelFrame& frame = frame_.panels[p];
    Hit hit;
    if (panel.x.stands_for == Axis::Stands::none || !panel.empty.isEmpty()) return hit;
    const auto column = static_cast<std::int64_t>(std::lround(frame.x.value(point.x())));
    const auto n = static_cast<std::int64_t>(panel.x.labels.size());
    if (column < 0 || (n > 0 && column >= n)) return hit;
    const bool query = panel.x.stands_for == Axis::Stands::query;
    (query ? hit.query : hit.key) = Position(column);
    hit.kind = query ? Hit::Kind::query : Hit::Kind::key;
    if (panel.column_tip) hit.tip = panel.column_tip(column);
    if (hit.tip.isEmpty() && n > 0) hit.tip = panel.x.labels[static_cast<std::size_t>(column)].with_position(Position(column));
    const double x = frame.x.px(static_cast<double>(column));
    hit.area = QRectF(x - 3, frame.area.top(), 6, frame.area.height());
    return hit;
}

Hit PlotFigure::hit_test(QPointF point, const Style&, const Selection&) const {
    if (const auto mark = index_.at(data_, frame_, point)) return hit_of(*mark);
    for (const LegendEntry& entry : frame_.legend) {
        if (!entry.series || !entry.area.contains(point)) continue;
        const Series& s = data_.panels[entry.panel].series[*entry.series];
        Hit hit;
        hit.kind = s.head ? Hit::Kind::head : Hit::Kind::legend;
        hit.head = s.head;
        hit.tip = s.head ? head_name(*s.head) : s.name;
        hit.area = entry.area;
        return hit;
    }
    for (std::size_t p = 0; p < frame_.panels.size(); ++p) {
        // The tokens under the axis belong to it.
        const QRectF area =
            frame_.panels[p].area.adjusted(0, 0, 0, frame_.panels[p].shows_labels ? frame_.panels[p].labels.extent + 8 : 20);
        if (area.contains(point)) return column_hit(p, point);
    }
    return {};
}

// --- brushing -------------------------------------------------------------------------------------------------------

std::optional<QRectF> PlotFigure::brush_area(QPointF point) const {
    for (std::size_t p = 0; p < frame_.panels.size(); ++p) {
        if (!frame_.panels[p].area.contains(point)) continue;
        for (const Series& s : data_.panels[p].series)
            if (s.kind == Series::Kind::points && (s.head || !s.heads.empty())) return frame_.panels[p].area;
    }
    return std::nullopt;
}

std::vector<HeadId> PlotFigure::heads_in(const QPolygonF& area) const {
    const QRectF around = area.boundingRect();
    std::set<HeadId> found;
    for (std::size_t p = 0; p < frame_.panels.size(); ++p) {
        if (!frame_.panels[p].area.intersects(around)) continue;
        for (const Series& s : data_.panels[p].series) {
            if (s.kind != Series::Kind::points) continue;
            for (std::size_t i = 0; i < s.size(); ++i) {
                const auto head = s.head_of(i);
                if (head && area.containsPoint(place_of(frame_.panels[p], s, i), Qt::OddEvenFill)) found.insert(*head);
            }
        }
    }
    return {found.begin(), found.end()};
}

// --- numbers --------------------------------------------------------------------------------------------------------

Table PlotFigure::table() const {
    if (data_.table) return data_.table();
    Table out;
    out.columns = data_.columns.empty() ? std::vector<std::string>{"panel", "series", "x", "y"} : data_.columns;
    std::int64_t rows = 0;
    for (const Panel& panel : data_.panels)
        for (const Series& s : panel.series) rows += static_cast<std::int64_t>(s.size());
    if (rows > longest_plot_table)
        throw Error({.problem = "The table would have too many rows",
                     .expected = "at most " + with_commas(longest_plot_table),
                     .found = with_commas(rows),
                     .hint = "Write the arrays as .npz"});
    for (const Panel& panel : data_.panels)
        for (const Series& s : panel.series)
            for (std::size_t i = 0; i < s.size(); ++i) {
                if (s.row)
                    out.rows.push_back(s.row(i));
                else if (data_.columns.empty())
                    out.rows.push_back(
                        {panel.title.toStdString(), s.name.toStdString(), finite_cell(s.x[i]), finite_cell(s.y[i])});
            }
    return out;
}

std::vector<NamedArray> PlotFigure::arrays() const {
    if (data_.arrays) return data_.arrays();
    std::vector<NamedArray> out;
    for (std::size_t p = 0; p < data_.panels.size(); ++p)
        for (std::size_t s = 0; s < data_.panels[p].series.size(); ++s) {
            const Series& series = data_.panels[p].series[s];
            const std::string name = "panel" + std::to_string(p) + "_series" + std::to_string(s);
            for (const auto& [suffix, values] : {std::pair{"_x", &series.x}, {"_y", &series.y}}) {
                NamedArray array{name + suffix, {static_cast<std::int64_t>(values->size())}, {}};
                for (double v : *values) array.values.push_back(static_cast<float>(v));
                out.push_back(std::move(array));
            }
        }
    return out;
}

}  // namespace headlight::figure::plot
