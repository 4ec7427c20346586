// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/contribution/contribution_graph.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

namespace headlight::figure {
namespace {

using analyze::ContributionEdge;

QColor edge_color(analyze::EdgeKind kind, const Style& style) {
    const Theme& theme = *style.theme;
    switch (kind) {
        case analyze::EdgeKind::attention: return theme.accent;
        case analyze::EdgeKind::cross: return head_color(theme, style.palette, 2);
        case analyze::EdgeKind::mlp: return head_color(theme, style.palette, 1);
        default: return theme.muted;
    }
}

bool through_heads(analyze::EdgeKind kind) { return kind == analyze::EdgeKind::attention || kind == analyze::EdgeKind::cross; }

}  // namespace

ContributionFigure::ContributionFigure(ContributionGraphData data)
    : data_(std::move(data)), drawn_(data_.graph->edges.size()), reached_(touched_tokens(*data_.graph)) {
    std::iota(drawn_.begin(), drawn_.end(), std::size_t{0});
    const auto& edges = data_.graph->edges;
    std::ranges::stable_sort(drawn_, std::greater(), [&](std::size_t i) { return edges[i].weight; });
    if (std::ssize(drawn_) > most_lines) drawn_.resize(static_cast<std::size_t>(most_lines));
    at_ = contribution_layout(data_, {1180, 0});
}

QSizeF ContributionFigure::place(QSizeF available, const Style&, const Selection&) {
    at_ = contribution_layout(data_, available);
    return {at_.width, at_.height};
}

const analyze::AxisItem& ContributionFigure::item(ContributionToken token) const {
    return (token.of_source ? data_.source : data_.tokens)[static_cast<std::size_t>(token.position)];
}

QString ContributionFigure::named(ContributionToken token) const {
    const QString name = draw::label_of(item(token)).with_position(Position(token.position));
    return !at_.two() ? name : (token.of_source ? QStringLiteral("source ") : QStringLiteral("target ")) + name;
}

QString ContributionFigure::layer_name(std::int64_t layer, bool in_encoder) const {
    return (!at_.two()   ? QStringLiteral("layer %1")
            : in_encoder ? QStringLiteral("encoder %1")
                         : QStringLiteral("decoder %1"))
        .arg(layer);
}

QString ContributionFigure::title() const { return QStringLiteral("State of %1").arg(named({false, data_.graph->target.value})); }

bool ContributionFigure::pointed(ContributionToken token, const Style& style, const Selection& selection) const {
    if (style.exporting) return false;
    const Position p(token.position);
    if (token.of_source) return data_.across && selection.hover_key == p;
    return selection.hover_query == p || (!data_.across && selection.hover_key == p);
}

void ContributionFigure::draw_on(Scene& out, const QRectF&, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(12.5);
    out.text({ContributionLayout::margin, 34}, draw::elided(title(), heading, at_.width - 48), heading, theme.text);
    const auto of_source = std::ranges::count(reached_, true, &ContributionToken::of_source);
    const auto own = std::ssize(reached_) - of_source;
    QString said =
        at_.two() ? QStringLiteral("%1 of %2 target and %3 of %4 source tokens reach it")
                        .arg(draw::count_text(own), draw::count_text(data_.graph->tokens), draw::count_text(of_source),
                             draw::count_text(data_.graph->source_tokens))
                  : QStringLiteral("%1 of %2 tokens reach it").arg(draw::count_text(own), draw::count_text(data_.graph->tokens));
    said += QStringLiteral(" · parts over %1 %").arg(draw::number_text(100 * data_.graph->threshold, 1));
    if (data_.keep_sizes) said += QStringLiteral(" · sizes kept");
    if (std::ssize(data_.graph->edges) > most_lines)
        said += QStringLiteral(" · the %1 strongest of %2 lines")
                    .arg(draw::count_text(most_lines), draw::count_text(std::ssize(data_.graph->edges)));
    out.text({ContributionLayout::margin, 56}, draw::elided(said, note, at_.width - 48), note, theme.muted);
    if (at_.two()) {
        draw_stems(out, style);
        draw_layers(out, style, true);
    } else {
        draw_layers(out, style, false);
    }
    draw_edges(out, style, selection);
    if (at_.two()) draw_layers(out, style, false);
    draw_nodes(out, style, selection);
    draw_labels(out, style, selection, false);
    if (at_.two()) draw_labels(out, style, selection, true);
    draw_legend(out, style);
}

/// The encoder's last state of a token is there for every layer of the decoder: up to the last one that reads it.
void ContributionFigure::draw_stems(Scene& out, const Style& style) const {
    std::map<std::int64_t, std::int64_t> last;
    for (const std::size_t i : drawn_) {
        const ContributionEdge& edge = data_.graph->edges[i];
        if (edge.kind != analyze::EdgeKind::cross) continue;
        auto& layer = last.try_emplace(edge.from, 0).first->second;
        layer = std::max(layer, edge.layer);
    }
    const QPen pen(draw::faded(edge_color(analyze::EdgeKind::cross, style), 0.45), 1, Qt::DotLine, Qt::FlatCap);
    for (const auto& [position, layer] : last) {
        const double x = at_.x({true, position});
        out.line({x, at_.y_before(0)}, {x, at_.y_before(layer)}, pen);
    }
}

void ContributionFigure::draw_edges(Scene& out, const Style& style, const Selection& selection) const {
    const bool pointing = std::ranges::any_of(reached_, [&](const ContributionToken& t) { return pointed(t, style, selection); });
    for (auto i = drawn_.rbegin(); i != drawn_.rend(); ++i) {
        const ContributionEdge& edge = data_.graph->edges[*i];
        const bool chosen = data_.chosen && name_of_edge(edge) == data_.chosen;
        double opacity = through_heads(edge.kind) ? 0.8 : 0.62;
        if (pointing && !pointed(from_token(edge), style, selection) && !pointed(to_token(edge), style, selection))
            opacity *= 0.2;
        if (data_.chosen && !chosen) opacity *= 0.55;
        const QPainterPath line = path(edge);
        const double width = contribution_width(edge.weight, at_);
        if (chosen) {
            out.path(line, QPen(draw::faded(style.theme->text, 0.9), width + 3.5, Qt::SolidLine, Qt::FlatCap));
            opacity = 1;
        }
        out.path(line, QPen(draw::faded(edge_color(edge.kind, style), opacity), width, Qt::SolidLine, Qt::FlatCap));
        out.means(line, std::max(7.0, width), hit_of(edge), [this, &edge] { return tip_of(edge); });
    }
}

void ContributionFigure::draw_nodes(Scene& out, const Style& style, const Selection&) const {
    const Theme& theme = *style.theme;
    const double radius = std::clamp(0.14 * at_.pitch_x, 1.2, 4.0);
    struct Place {
        std::int64_t layer;
        ContributionToken token;
        auto operator<=>(const Place&) const = default;
    };
    std::set<Place> before, behind, joined, through;  // joined: in front of the MLP, where that is not behind the attention
    std::set<std::pair<std::int64_t, std::int64_t>> read;
    const Place target{data_.graph->layers, {false, data_.graph->target.value}};
    before.insert(target);
    for (const ContributionEdge& edge : data_.graph->edges) {
        const Place from{edge.layer, from_token(edge)};
        switch (edge.kind) {
            case analyze::EdgeKind::attention:
            case analyze::EdgeKind::residual: before.insert(from); break;
            case analyze::EdgeKind::cross:
                before.insert({data_.graph->source_layers, from.token});
                read.emplace(edge.layer, edge.from);
                break;
            case analyze::EdgeKind::cross_residual: behind.insert(from); break;
            case analyze::EdgeKind::mlp: through.insert(from); [[fallthrough]];
            case analyze::EdgeKind::mlp_residual: (at_.two() && !edge.in_encoder ? joined : behind).insert(from); break;
        }
    }
    const auto dot = [&](double x, double y, double r, const QColor& color) { out.circle({x, y}, r, Qt::NoPen, color); };
    const QColor past = draw::blended(theme.canvas, theme.muted, 0.75);
    for (const auto& [layer, token] : behind)
        dot(at_.x(token), at_.y_behind_attention(layer, token.of_source), radius * 0.75, past);
    for (const auto& [layer, token] : joined) dot(at_.x(token), at_.y_behind_cross(layer), radius * 0.75, past);
    const QColor across = draw::blended(theme.canvas, edge_color(analyze::EdgeKind::cross, style), 0.75);
    for (const auto& [layer, position] : read)
        if (layer > 0) dot(at_.x({true, position}), at_.y_before(layer), radius * 0.6, across);
    for (const Place& place : before) {
        const bool last = place == target;
        out.circle({at_.x(place.token), at_.y_before(place.layer, place.token.of_source)}, last ? radius + 2 : radius,
                   last ? QPen(theme.accent, 2) : QPen(theme.text, std::min(1.0, radius / 2)),
                   last ? theme.accent_soft : theme.canvas);
    }
    for (const auto& [layer, token] : through) {
        const double bow = std::min(22.0, 0.62 * at_.pitch_x) * 0.75, r = radius * 0.9,
                     y = (y_before_mlp(at_, layer, token.of_source) + at_.y_before(layer + 1, token.of_source)) / 2;
        out.box(QRectF(at_.x(token) + bow - r, y - r, 2 * r, 2 * r), 0, edge_color(analyze::EdgeKind::mlp, style));
    }
}

void ContributionFigure::draw_layers(Scene& out, const Style& style, bool in_encoder) const {
    const Theme& theme = *style.theme;
    const double left = in_encoder ? at_.source_left : at_.left,
                 wide = at_.pitch_x * double((in_encoder ? at_.source_columns : at_.columns).size());
    for (std::int64_t l = 0; l < (in_encoder ? at_.source_layers : at_.layers); ++l) {
        const double x = left - ContributionLayout::layer_room,
                     y = (at_.y_before(l, in_encoder) + at_.y_before(l + 1, in_encoder)) / 2;
        const QString name = layer_name(l, in_encoder);
        // Lines from the source run behind it.
        if (at_.two() && !in_encoder)
            out.box(QRectF(x - 3, y - 8, draw::text_width(name, small_font()) + 6, 16), 4, draw::faded(theme.canvas, 0.8));
        out.text({x, draw::centred_baseline(y, small_font())}, name, small_font(), theme.muted);
        out.fill(QRectF(left - 6, at_.y_before(l, in_encoder), wide + 12, 1), draw::faded(theme.line, 0.7));
    }
}

Hit ContributionFigure::hit_of(ContributionToken token) const {
    if (!token.of_source) return {.kind = Hit::Kind::query, .query = Position(token.position)};
    if (!data_.across) return {.kind = Hit::Kind::legend};
    return {.kind = Hit::Kind::key, .key = Position(token.position)};
}

void ContributionFigure::draw_labels(Scene& out, const Style& style, const Selection& selection, bool of_source) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(label_size);
    const double line = QFontMetricsF(font).height();
    const ContributionToken target{false, data_.graph->target.value};
    if (!of_source) {
        const double x = at_.x(target), half = draw::text_width(named(target), font) / 2;
        out.text(
            {std::clamp(x, ContributionLayout::margin + half, std::max(ContributionLayout::margin + half, at_.width - 8 - half)),
             at_.top - 10},
            named(target), font, theme.accent, draw::Align::center);
    }
    const auto& columns = of_source ? at_.source_columns : at_.columns;
    const double top = (of_source ? at_.source_bottom : at_.bottom) + 10;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const ContributionToken token{of_source, columns[c]};
        const double centre = at_.x(token);
        out.means(QRectF(centre - at_.pitch_x / 2, top - 4, at_.pitch_x, at_.label_extent - 6), hit_of(token),
                  [this, token] { return named(token); });
        const bool here = pointed(token, style, selection);
        if (static_cast<std::int64_t>(c) % at_.fit.stride != 0 && !here) continue;
        const draw::Label label =
            draw::label_in(of_source ? data_.source : data_.tokens, static_cast<std::size_t>(token.position));
        const bool reached = std::binary_search(reached_.begin(), reached_.end(), token);
        const QColor color = token == target || here ? theme.accent : reached ? QColor() : theme.muted;
        if (at_.fit.upwards)
            out.token_upwards(QRectF(centre - line / 2, top, line, at_.label_extent - 8), label, font, color);
        else
            out.token(QRectF(centre - at_.pitch_x / 2, top, at_.pitch_x, line), label, font, draw::Align::center, color);
    }
    if (!at_.two()) return;
    const double left = of_source ? at_.source_left : at_.left;
    out.text({left - ContributionLayout::layer_room, draw::centred_baseline(top + line / 2, small_font())},
             of_source ? QStringLiteral("source") : QStringLiteral("target"), small_font(), theme.muted);
}

void ContributionFigure::draw_legend(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    double x = ContributionLayout::margin, y = at_.source_bottom + at_.label_extent + 26;
    const double least = std::max(data_.graph->threshold, 0.001);
    const auto entry = [&](const QColor& color, double width, const QString& text) {
        const double wide = 26 + draw::text_width(text, small_font()) + 16;
        if (x > ContributionLayout::margin && x + wide > at_.width) {
            x = ContributionLayout::margin;
            y += 18;
        }
        out.line({x, y - 4}, {x + 20, y - 4}, QPen(color, width, Qt::SolidLine, Qt::FlatCap));
        out.text({x + 26, y}, text, small_font(), theme.muted);
        x += wide;
    };
    entry(draw::faded(edge_color(analyze::EdgeKind::attention, style), 0.8), 3, QStringLiteral("attention"));
    if (at_.two())
        entry(draw::faded(edge_color(analyze::EdgeKind::cross, style), 0.8), 3, QStringLiteral("attention to the source"));
    entry(draw::faded(edge_color(analyze::EdgeKind::mlp, style), 0.62), 3, QStringLiteral("MLP"));
    entry(draw::faded(edge_color(analyze::EdgeKind::residual, style), 0.62), 3, QStringLiteral("was there already"));
    for (const double share : {least, 0.25, 1.0})
        entry(draw::faded(theme.muted, 0.62), contribution_width(share, at_), share_text(share));
    const std::int64_t columns = std::ssize(at_.columns) + std::ssize(at_.source_columns);
    QString note = draw::left_out_text(at_.fit, columns);
    if (columns < std::ssize(data_.tokens) + std::ssize(data_.source))
        note += (note.isEmpty() ? QString() : QStringLiteral(" · ")) + QStringLiteral("tokens that no line reaches are left out");
    out.text({ContributionLayout::margin, y + 18}, draw::elided(note, small_font(), at_.width - 32), small_font(), theme.muted);
}

}  // namespace headlight::figure
