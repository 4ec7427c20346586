// SPDX-License-Identifier: GPL-3.0-or-later
// What lies under the pointer in the head view.
#include "figure/pattern/head/head_figure.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double reach = 4;                        ///< how near the pointer must be to a line
constexpr std::size_t most_lines_listed = 20'000;  ///< among the marks; the pointer finds them all

}  // namespace

QString HeadFigure::pair_tip(std::int32_t head, std::int64_t query, std::int64_t key) const {
    return QStringLiteral("%1  %2 → %3  %4")
        .arg(name_of(head), query_name(data_.words, data_.axes, query), key_name(data_.words, data_.axes, key),
             masked(query, key)
                 ? QStringLiteral("masked: a later token")
                 : QStringLiteral("weight ") + draw::value_text(data_.weights[static_cast<std::size_t>(head)](query, key)));
}

/// Positions of a difference may be those of two texts.
bool HeadFigure::masked(std::int64_t query, std::int64_t key) const {
    return !data_.difference && !is_legal(data_.causal, data_.axes.queries[static_cast<std::size_t>(query)],
                                          data_.axes.keys[static_cast<std::size_t>(key)]);
}

Hit HeadFigure::token_hit(bool is_query, std::int64_t row, const Style& style, const Selection& selection) const {
    const auto& items = is_query ? data_.axes.queries : data_.axes.keys;
    Hit hit;
    hit.kind = is_query ? Hit::Kind::query : Hit::Kind::key;
    (is_query ? hit.query : hit.key) = selected_by(items[static_cast<std::size_t>(row)]);
    hit.area = is_query ? layout_.query_box(row) : layout_.key_box(row);

    // The pinned token on the other side makes it a pair; alone, the tip names the strongest partner.
    const auto& pinned = is_query ? selection.pinned_keys : selection.pinned_queries;
    std::int64_t partner = -1;
    if (!pinned.empty()) partner = is_query ? data_.axes.key_column(pinned.back()) : data_.axes.query_row(pinned.back());
    const Drawn& d = drawn(style, selection);
    std::int32_t strongest = d.active.front();
    double most = -1;
    for (std::int32_t head : d.active) {
        const auto& map = data_.weights[static_cast<std::size_t>(head)];
        for (std::int64_t other = 0; other < (is_query ? map.cols() : map.rows()); ++other) {
            if (!pinned.empty() && other != partner) continue;
            const double weight = is_query ? map(row, other) : map(other, row);
            if (weight > most) most = weight, strongest = head, partner = other;
        }
    }
    if (partner < 0 || most < 0) {
        hit.tip = is_query ? query_name(data_.words, data_.axes, row) : key_name(data_.words, data_.axes, row);
        return hit;
    }
    hit.head = head_of(strongest);
    if (!(is_query ? masked(row, partner) : masked(partner, row))) hit.value = most;
    hit.tip = is_query ? pair_tip(strongest, row, partner) : pair_tip(strongest, partner, row);
    return hit;
}

Hit HeadFigure::line_hit(QPointF at, const Style& style, const Selection& selection) const {
    const HeadLines& all = *drawn(style, selection).lines;
    const double u = (at.x() - layout_.line_x0) / (layout_.line_x1 - layout_.line_x0);
    const HeadSubject s = subject(style, selection);
    const HeadLine* best = nullptr;
    double best_rank = 0;
    for (const HeadLine& line : all.lines) {
        const double y0 = layout_.row_y(line.query), y1 = layout_.row_y(line.key);
        const double slope = (y1 - y0) / (layout_.line_x1 - layout_.line_x0);
        const double aside = y0 + (y1 - y0) * u - at.y(), square = 1 + slope * slope;
        if (aside * aside > reach * reach * square) continue;
        const double distance = std::abs(aside) / std::sqrt(square);
        // Near and strong wins; the subject's lines lie on top.
        const double rank = line.opacity * (1.2 - distance / reach) * (s.has(line) ? 4 : 1);
        if (rank >= best_rank) best_rank = rank, best = &line;  // of equals the one that is painted later
    }
    return best ? hit_of(*best) : Hit{};
}

Hit HeadFigure::hit_of(const HeadLine& line) const {
    Hit hit;
    hit.kind = Hit::Kind::pair;
    hit.head = head_of(line.head);
    hit.query = selected_by(data_.axes.queries[static_cast<std::size_t>(line.query)]);
    hit.key = selected_by(data_.axes.keys[static_cast<std::size_t>(line.key)]);
    hit.value = data_.weights[static_cast<std::size_t>(line.head)](line.query, line.key);
    hit.tip = pair_tip(line.head, line.query, line.key);
    hit.area = QRectF(QPointF(layout_.line_x0, layout_.row_y(line.query)), QPointF(layout_.line_x1, layout_.row_y(line.key)))
                   .normalized()
                   .adjusted(0, -reach, 0, reach);
    return hit;
}

Hit HeadFigure::square_hit(std::int64_t head, const Style& style) const {
    Hit hit;
    hit.kind = Hit::Kind::head_square;
    hit.head = HeadId{data_.layer, Head(head)};
    hit.tip = head_name(*hit.head);
    if (!style.exporting) hit.tip += QStringLiteral("  click: on or off, double-click: only this head");
    if (style.dims(*hit.head)) hit.tip += QStringLiteral("  (not in the filter)");
    hit.area = layout_.square(head).translated(0, view_.top());
    return hit;
}

std::optional<std::vector<MarkPlace>> HeadFigure::marks(const Style& style, const Selection& selection) const {
    std::vector<MarkPlace> places;
    const auto add = [&](Hit hit) {
        const QPointF middle = hit.area.center();
        places.push_back({std::move(hit), middle});
    };
    for (std::int64_t h = 0; h < data_.n_heads; ++h) add(square_hit(h, style));
    for (std::int64_t row = 0; row < layout_.queries; ++row) add(token_hit(true, row, style, selection));
    for (std::int64_t row = 0; row < layout_.keys; ++row) add(token_hit(false, row, style, selection));
    const Drawn& d = drawn(style, selection);
    if (!d.lines) return places;
    const auto& order = d.lines->faint_first;
    for (std::size_t i = order.size() - std::min(order.size(), most_lines_listed); i < order.size(); ++i) {
        const HeadLine& line = d.lines->lines[order[i]];
        QPainterPath path(QPointF(layout_.line_x0, layout_.row_y(line.query)));
        const double weight = std::min(1.0, double(line.opacity) * double(d.active.size()));  // seen alone
        path.lineTo(layout_.line_x1, layout_.row_y(line.key));
        places.push_back({hit_of(line), path.pointAtPercent(0.5), path, 2 * reach, draw::faded(color(style, line.head), weight)});
    }
    return places;
}

Hit HeadFigure::hit_test(QPointF at, const Style& style, const Selection& selection) const {
    const double top = view_.top(), rows_top = top + layout_.header_height;
    if (at.y() < rows_top) {
        for (std::int64_t h = 0; h < data_.n_heads; ++h) {
            const QRectF square = layout_.square(h).translated(0, top);
            if (square.adjusted(-3, -3, 3, 3).contains(at)) return square_hit(h, style);
        }
        return {};
    }
    Hit legend;
    legend.kind = Hit::Kind::legend;
    if (at.y() >= view_.bottom() - layout_.legend_height) {
        legend.area = QRectF(view_.left(), view_.bottom() - layout_.legend_height, view_.width(), layout_.legend_height);
        return legend;
    }
    for (const EdgeNote& note : edge_notes(style, selection)) {
        if (!note.box.contains(at)) continue;
        legend.area = note.box;
        legend.tip = note.text + QStringLiteral("  (beyond the edge: scroll to it)");
        return legend;
    }
    if (at.x() < layout_.line_x0 - 2) {
        const auto row = layout_.row_at(at.y(), layout_.queries);
        return row >= 0 && at.x() >= 0 ? token_hit(true, row, style, selection) : Hit{};
    }
    if (at.x() > layout_.line_x1 + 2) {
        const auto row = layout_.row_at(at.y(), layout_.keys);
        return row >= 0 && at.x() <= layout_.number_right ? token_hit(false, row, style, selection) : Hit{};
    }
    return line_hit(at, style, selection);
}

}  // namespace headlight::figure
