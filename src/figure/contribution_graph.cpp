// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution_graph.h"

#include "headlight/base/error.h"

#include <QPainterPathStroker>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

namespace headlight::figure {
namespace {

using analyze::ContributionEdge;
using Kind = ContributionEdge::Kind;

constexpr double roomy = 30, least_pitch = 5, label_size = 12;

const QFont& small_font() {
    static const QFont font = ui_font(11);
    return font;
}

double width_of(double weight, const ContributionLayout& at) {
    return std::max(0.6, at.widest * weight);
}

QColor color_of(Kind kind, const Style& style) {
    const Theme& theme = *style.theme;
    if (kind == Kind::attention) return theme.accent;
    return kind == Kind::mlp ? head_color(theme, style.palette, 1) : theme.muted;
}

std::vector<std::int64_t> touched(const analyze::ContributionGraph& graph) {
    std::set<std::int64_t> all{graph.target.value};
    for (const ContributionEdge& edge : graph.edges) {
        all.insert(edge.from);
        all.insert(edge.to);
    }
    return {all.begin(), all.end()};
}

QString percent(double share) {
    return draw::number_text(100 * share, share < 0.1 ? 2 : 1) + QStringLiteral(" %");
}

}  // namespace

std::optional<EdgeName> edge_name(const std::string& text) {
    if (text.empty()) return std::nullopt;
    std::int64_t numbers[3];
    const char* at = text.data();
    const char* end = at + text.size();
    for (int i = 0; i < 3; ++i) {
        const auto [next, wrong] = std::from_chars(at, end, numbers[i]);
        if (wrong != std::errc() || (i < 2 ? next == end || *next != ':' : next != end))
            throw Error({.problem = "This is not the name of an edge",
                         .item = "edge",
                         .expected = "LAYER:FROM:TO, as 3:4:13",
                         .found = text});
        at = next + 1;
    }
    return EdgeName{numbers[0], numbers[1], numbers[2]};
}

std::string text_of(const EdgeName& edge) {
    return std::to_string(edge.layer) + ":" + std::to_string(edge.from) + ":" + std::to_string(edge.to);
}

double ContributionLayout::x(std::int64_t position) const {
    const auto found = std::lower_bound(columns.begin(), columns.end(), position);
    return left + pitch_x * (static_cast<double>(found - columns.begin()) + 0.5);
}

bool ContributionLayout::has(std::int64_t position) const {
    return std::binary_search(columns.begin(), columns.end(), position);
}

ContributionLayout contribution_layout(const ContributionGraphData& data, QSizeF available) {
    ContributionLayout at;
    const auto tokens = static_cast<std::int64_t>(data.tokens.size());
    at.layers = data.graph->layers;
    at.left = ContributionLayout::margin + ContributionLayout::layer_room;
    const double room = std::max(120.0, available.width() - at.left - ContributionLayout::margin);
    if (static_cast<double>(tokens) * roomy <= room) {
        at.columns.resize(data.tokens.size());
        std::iota(at.columns.begin(), at.columns.end(), 0);
    } else {
        at.columns = touched(*data.graph);
    }
    const auto count = static_cast<double>(at.columns.size());
    at.pitch_x = std::clamp(room / count, least_pitch, 96.0);
    at.widest = std::clamp(0.7 * at.pitch_x, 2.5, 9.0);  // neighbours do not run into each other
    at.width = std::max(available.width(), at.left + at.pitch_x * count + ContributionLayout::margin);
    const QFont font = ui_font(label_size);
    std::vector<double> widths;
    for (const std::int64_t p : at.columns)
        widths.push_back(draw::token_width(draw::label_of(data.tokens[static_cast<std::size_t>(p)]), font));
    at.fit = draw::fit_columns(widths, at.pitch_x, QFontMetricsF(font).height(), 110);
    at.label_extent = std::ceil(at.fit.extent) + 8;
    const double around = ContributionLayout::header + at.label_extent + ContributionLayout::legend + 20;
    const double layers = static_cast<double>(at.layers);
    at.pitch_y = available.height() > 0 ? std::clamp((available.height() - around) / layers, 46.0, 110.0) : 64;
    at.top = ContributionLayout::header;
    at.bottom = at.top + at.pitch_y * layers;
    at.height = at.bottom + at.label_extent + ContributionLayout::legend;
    return at;
}

ContributionFigure::ContributionFigure(ContributionGraphData data)
    : data_(std::move(data)), drawn_(data_.graph->edges.size()), reached_(touched(*data_.graph)) {
    std::iota(drawn_.begin(), drawn_.end(), std::size_t{0});
    const auto& edges = data_.graph->edges;
    std::stable_sort(drawn_.begin(), drawn_.end(),
                     [&](std::size_t a, std::size_t b) { return edges[a].weight > edges[b].weight; });
    if (std::ssize(drawn_) > most_lines) drawn_.resize(static_cast<std::size_t>(most_lines));
    at_ = contribution_layout(data_, {1180, 0});
}

QSizeF ContributionFigure::layout(QSizeF available, const Style&, const Selection&) {
    at_ = contribution_layout(data_, available);
    return {at_.width, at_.height};
}

QString ContributionFigure::named(std::int64_t position) const {
    return draw::label_of(data_.tokens[static_cast<std::size_t>(position)]).with_position(Position(position));
}

QString ContributionFigure::title() const {
    return QStringLiteral("State of %1").arg(named(data_.graph->target.value));
}

QString ContributionFigure::description() const {
    return QStringLiteral(
        "Layers go up, tokens stand side by side. A line is a part of the state it leads to: what attention brought "
        "from a token, what the MLP added, or what was there already. A part p of a whole w weighs |w| − |w − p| in L1 "
        "norms, never less than next to nothing, over the sum of all parts; head by head and token by token. Parts "
        "under the threshold are dropped, and what stays sums to 1 again at each state. Only what reaches the chosen "
        "token's last state is drawn. Click a line of attention for its heads, and for the map of one head's weights "
        "beside that of what it contributed. Tufanov et al. 2024, LM Transparency Tool; Ferrando & Voita 2024, "
        "Information Flow Routes.");
}

QPainterPath ContributionFigure::path(const ContributionEdge& edge) const {
    const double from = at_.x(edge.from), to = at_.x(edge.to), before = at_.y_before(edge.layer),
                 middle = at_.y_behind_attention(edge.layer), after = at_.y_before(edge.layer + 1);
    QPainterPath line;
    switch (edge.kind) {
        case Kind::attention: {
            // Beside the stream when it is the token's own: the line past the attention runs straight up.
            line.moveTo(from, before);
            if (edge.from == edge.to) {
                const double bow = std::min(14.0, 0.42 * at_.pitch_x);
                line.cubicTo(QPointF(from - bow, before - 0.2 * (before - middle)),
                             QPointF(from - bow, middle + 0.2 * (before - middle)), QPointF(to, middle));
            } else {
                const double reach = 0.5 * (before - middle);
                line.cubicTo(QPointF(from, before - reach), QPointF(to, middle + reach), QPointF(to, middle));
            }
            break;
        }
        case Kind::residual:
            line.moveTo(from, before);
            line.lineTo(to, middle);
            break;
        case Kind::mlp: {
            const double bow = std::min(22.0, 0.62 * at_.pitch_x), third = (middle - after) / 3;
            line.moveTo(from, middle);
            line.cubicTo(QPointF(from + bow, middle - third), QPointF(from + bow, after + third), QPointF(to, after));
            break;
        }
        case Kind::mlp_residual:
            line.moveTo(from, middle);
            line.lineTo(to, after);
            break;
    }
    return line;
}

void ContributionFigure::paint(QPainter& painter, const QRectF&, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    static const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(12.5);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    draw::text(painter, {ContributionLayout::margin, 34}, draw::elided(title(), heading, at_.width - 48), heading, theme.text);
    const auto shown = static_cast<std::int64_t>(reached_.size());
    QString said = QStringLiteral("%1 of %2 tokens reach it").arg(draw::count_text(shown), draw::count_text(data_.graph->tokens));
    said += QStringLiteral(" · parts over %1 %").arg(draw::number_text(100 * data_.graph->threshold, 1));
    if (data_.keep_sizes) said += QStringLiteral(" · sizes kept");
    if (std::ssize(data_.graph->edges) > most_lines)
        said += QStringLiteral(" · the %1 strongest of %2 lines")
                    .arg(draw::count_text(most_lines), draw::count_text(std::ssize(data_.graph->edges)));
    draw::text(painter, {ContributionLayout::margin, 56}, draw::elided(said, note, at_.width - 48), note, theme.muted);
    paint_edges(painter, style, selection);
    paint_nodes(painter, style, selection);
    paint_labels(painter, style, selection);
    paint_legend(painter, style);
}

void ContributionFigure::paint_edges(QPainter& painter, const Style& style, const Selection& selection) const {
    const std::int64_t hovered = style.exporting         ? -1
                                 : selection.hover_query ? selection.hover_query->value
                                 : selection.hover_key   ? selection.hover_key->value
                                                         : -1;
    painter.setBrush(Qt::NoBrush);
    for (auto i = drawn_.rbegin(); i != drawn_.rend(); ++i) {
        const ContributionEdge& edge = data_.graph->edges[*i];
        const bool chosen = data_.chosen && edge.kind == Kind::attention &&
                            EdgeName{edge.layer, edge.from, edge.to} == *data_.chosen;
        double opacity = edge.kind == Kind::attention ? 0.8 : 0.62;
        if (hovered >= 0 && edge.from != hovered && edge.to != hovered) opacity *= 0.2;
        if (data_.chosen && !chosen) opacity *= 0.55;
        const QPainterPath line = path(edge);
        if (chosen) {
            painter.setPen(QPen(draw::faded(style.theme->text, 0.9), width_of(edge.weight, at_) + 3.5, Qt::SolidLine, Qt::FlatCap));
            painter.drawPath(line);
            opacity = 1;
        }
        painter.setPen(QPen(draw::faded(color_of(edge.kind, style), opacity), width_of(edge.weight, at_), Qt::SolidLine, Qt::FlatCap));
        painter.drawPath(line);
    }
}

void ContributionFigure::paint_nodes(QPainter& painter, const Style& style, const Selection&) const {
    const Theme& theme = *style.theme;
    const double radius = std::clamp(0.14 * at_.pitch_x, 1.2, 4.0);
    std::set<std::pair<std::int64_t, std::int64_t>> before, behind;
    std::set<std::pair<std::int64_t, std::int64_t>> through;
    before.emplace(data_.graph->layers, data_.graph->target.value);
    for (const ContributionEdge& edge : data_.graph->edges) {
        if (edge.kind == Kind::attention || edge.kind == Kind::residual) before.emplace(edge.layer, edge.from);
        else behind.emplace(edge.layer, edge.from);
        if (edge.kind == Kind::mlp) through.emplace(edge.layer, edge.from);
    }
    painter.setPen(Qt::NoPen);
    for (const auto& [layer, p] : behind) {
        painter.setBrush(draw::blended(theme.canvas, theme.muted, 0.75));
        painter.drawEllipse(QPointF(at_.x(p), at_.y_behind_attention(layer)), radius * 0.75, radius * 0.75);
    }
    for (const auto& [layer, p] : before) {
        const bool last = layer == data_.graph->layers;
        painter.setPen(last ? QPen(theme.accent, 2) : QPen(theme.text, std::min(1.0, radius / 2)));
        painter.setBrush(last ? theme.accent_soft : theme.canvas);
        const double r = last ? radius + 2 : radius;
        painter.drawEllipse(QPointF(at_.x(p), at_.y_before(layer)), r, r);
    }
    painter.setPen(Qt::NoPen);
    painter.setBrush(head_color(theme, style.palette, 1));
    for (const auto& [layer, p] : through) {
        const double bow = std::min(22.0, 0.62 * at_.pitch_x) * 0.75,
                     y = (at_.y_behind_attention(layer) + at_.y_before(layer + 1)) / 2, r = radius * 0.9;
        painter.drawRect(QRectF(at_.x(p) + bow - r, y - r, 2 * r, 2 * r));
    }
}

void ContributionFigure::paint_labels(QPainter& painter, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(label_size);
    const double line = QFontMetricsF(font).height();
    for (std::int64_t l = 0; l < at_.layers; ++l) {
        const double y = (at_.y_before(l) + at_.y_before(l + 1)) / 2;
        draw::text(painter, {ContributionLayout::margin, draw::centred_baseline(y, small_font())},
                   QStringLiteral("layer %1").arg(l), small_font(), theme.muted);
        painter.fillRect(QRectF(at_.left - 6, at_.y_before(l), at_.pitch_x * double(at_.columns.size()) + 12, 1),
                         draw::faded(theme.line, 0.7));
    }
    const QString target = named(data_.graph->target.value);
    const double x = at_.x(data_.graph->target.value), half = draw::text_width(target, font) / 2;
    draw::text(painter, {std::clamp(x, ContributionLayout::margin + half, std::max(ContributionLayout::margin + half, at_.width - 8 - half)), at_.top - 10},
               target, font, theme.accent, draw::Align::center);
    for (std::size_t c = 0; c < at_.columns.size(); ++c) {
        const std::int64_t p = at_.columns[c];
        const bool pointed = !style.exporting && (selection.hover_query == Position(p) || selection.hover_key == Position(p));
        const bool here = p == data_.graph->target.value;
        if (static_cast<std::int64_t>(c) % at_.fit.stride != 0 && !pointed) continue;
        const draw::Label label = draw::label_of(data_.tokens[static_cast<std::size_t>(p)]);
        const bool reached = std::binary_search(reached_.begin(), reached_.end(), p);
        const QColor color = here || pointed ? theme.accent : reached ? QColor() : theme.faint;
        const double centre = at_.x(p), top = at_.bottom + 10;
        if (at_.fit.upwards)
            draw::token_upwards(painter, QRectF(centre - line / 2, top, line, at_.label_extent - 8), label, font, theme, color);
        else
            draw::token(painter, QRectF(centre - at_.pitch_x / 2, top, at_.pitch_x, line), label, font, theme, draw::Align::center, color);
    }
}

void ContributionFigure::paint_legend(QPainter& painter, const Style& style) const {
    const Theme& theme = *style.theme;
    double x = ContributionLayout::margin, y = at_.bottom + at_.label_extent + 26;
    const double least = std::max(data_.graph->threshold, 0.001);
    const auto entry = [&](const QColor& color, double width, const QString& text) {
        const double wide = 26 + draw::text_width(text, small_font()) + 16;
        if (x > ContributionLayout::margin && x + wide > at_.width) {
            x = ContributionLayout::margin;
            y += 18;
        }
        painter.setPen(QPen(color, width, Qt::SolidLine, Qt::FlatCap));
        painter.drawLine(QPointF(x, y - 4), QPointF(x + 20, y - 4));
        draw::text(painter, {x + 26, y}, text, small_font(), theme.muted);
        x += wide;
    };
    entry(draw::faded(color_of(Kind::attention, style), 0.8), 3, QStringLiteral("attention"));
    entry(draw::faded(color_of(Kind::mlp, style), 0.62), 3, QStringLiteral("MLP"));
    entry(draw::faded(color_of(Kind::residual, style), 0.62), 3, QStringLiteral("was there already"));
    for (const double share : {least, 0.25, 1.0})
        entry(draw::faded(theme.muted, 0.62), width_of(share, at_), percent(share));
    QString note;
    if (const QString left = draw::left_out_text(at_.fit, std::ssize(at_.columns)); !left.isEmpty()) note = left;
    if (at_.columns.size() < data_.tokens.size())
        note += (note.isEmpty() ? QString() : QStringLiteral(" · ")) + QStringLiteral("tokens that no line reaches are left out");
    draw::text(painter, {ContributionLayout::margin, y + 18}, draw::elided(note, small_font(), at_.width - 32), small_font(), theme.faint);
}

Hit ContributionFigure::edge_hit(const ContributionEdge& edge) const {
    Hit hit;
    hit.value = edge.weight;
    hit.area = path(edge).boundingRect();
    const QString layer = QStringLiteral("layer %1  ").arg(edge.layer);
    if (edge.kind == Kind::attention) {
        const EdgeName name{edge.layer, edge.from, edge.to};
        const bool open = data_.chosen == name;
        hit.kind = Hit::Kind::option;
        hit.options = {{"edge", open ? std::string() : text_of(name)}};
        if (!open) hit.head = HeadId{Layer(edge.layer), Head(edge.heads.front().first)};
        hit.tip = layer + QStringLiteral("%1 → %2  %3 of the state:").arg(named(edge.to), named(edge.from), percent(edge.weight));
        for (std::size_t i = 0; i < edge.heads.size() && i < 4; ++i)
            hit.tip += QStringLiteral("  H%1 %2").arg(edge.heads[i].first).arg(percent(edge.heads[i].second));
        if (edge.heads.size() > 4) hit.tip += QStringLiteral("  and %1 more heads").arg(edge.heads.size() - 4);
        return hit;
    }
    hit.kind = Hit::Kind::legend;
    const QString what = edge.kind == Kind::mlp        ? QStringLiteral("the MLP adds %1 of the state of %2")
                         : edge.kind == Kind::residual ? QStringLiteral("%1 of the state of %2 was there before attention")
                                                       : QStringLiteral("%1 of the state of %2 was there before the MLP");
    hit.tip = layer + what.arg(percent(edge.weight), named(edge.to));
    return hit;
}

Hit ContributionFigure::hit_test(QPointF point, const Style&, const Selection&) const {
    const bool labels = point.y() > at_.bottom + 6 && point.y() < at_.bottom + at_.label_extent;
    const double column = std::floor((point.x() - at_.left) / at_.pitch_x);
    const bool inside = column >= 0 && column < static_cast<double>(at_.columns.size());
    if (labels && inside) {
        Hit hit;
        const std::int64_t p = at_.columns[static_cast<std::size_t>(column)];
        hit.kind = Hit::Kind::query;
        hit.query = Position(p);
        hit.tip = named(p);
        hit.area = {at_.left + column * at_.pitch_x, at_.bottom + 6, at_.pitch_x, at_.label_extent - 6};
        return hit;
    }
    QPainterPathStroker reach;
    for (const std::size_t i : drawn_) {
        const ContributionEdge& edge = data_.graph->edges[i];
        const double near = std::max(7.0, width_of(edge.weight, at_));
        const QPainterPath line = path(edge);
        if (!line.boundingRect().adjusted(-near, -near, near, near).contains(point)) continue;
        reach.setWidth(near);
        if (reach.createStroke(line).contains(point)) return edge_hit(edge);
    }
    return {};
}

Table ContributionFigure::table() const {
    Table out{{"layer", "kind", "from", "from_token", "to", "to_token", "head", "contribution"}, {}};
    const auto token = [&](std::int64_t p) {
        const auto& item = data_.tokens[static_cast<std::size_t>(p)];
        return item.continuation + item.label;
    };
    for (const ContributionEdge& e : data_.graph->edges) {
        const std::string kind = analyze::name_of(e.kind);
        out.rows.push_back({e.layer, kind, e.from, token(e.from), e.to, token(e.to), Table::Cell(), e.weight});
        for (const auto& [head, weight] : e.heads)
            out.rows.push_back({e.layer, kind, e.from, token(e.from), e.to, token(e.to), head, weight});
    }
    return out;
}

std::vector<NamedArray> ContributionFigure::arrays() const {
    const auto& edges = data_.graph->edges;
    NamedArray all{"edges", {std::ssize(edges), 5}, {}};  // layer, kind as in the table's order, from, to, contribution
    for (const ContributionEdge& e : edges)
        for (const double x : {double(e.layer), double(static_cast<int>(e.kind)), double(e.from), double(e.to), e.weight})
            all.values.push_back(static_cast<float>(x));
    return {all};
}

}  // namespace headlight::figure
