// SPDX-License-Identifier: GPL-3.0-or-later
// Where the tokens, states and lines of a contribution graph stand.
#include "figure/contribution/contribution_graph.h"

#include "headlight/base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

namespace headlight::figure {
namespace {

using analyze::ContributionEdge;
using Attention = EdgeName::Attention;

constexpr double roomy = 30, least_pitch = 5;
/// A layer with three steps is so much higher than one with two.
constexpr double with_cross = 1.4;

constexpr std::pair<Attention, std::string_view> kWords[] = {{Attention::cross, "cross:"}, {Attention::encoder, "encoder:"}};

std::vector<std::int64_t> all_of(const std::vector<analyze::AxisItem>& tokens) {
    std::vector<std::int64_t> columns(tokens.size());
    std::iota(columns.begin(), columns.end(), 0);
    return columns;
}

}  // namespace

ContributionToken from_token(const ContributionEdge& edge) {
    return {edge.in_encoder || edge.kind == analyze::EdgeKind::cross, edge.from};
}
ContributionToken to_token(const ContributionEdge& edge) { return {edge.in_encoder, edge.to}; }

std::vector<ContributionToken> touched_tokens(const analyze::ContributionGraph& graph) {
    std::set<ContributionToken> all{{false, graph.target.value}};
    for (const ContributionEdge& edge : graph.edges) all.insert({from_token(edge), to_token(edge)});
    return {all.begin(), all.end()};
}

std::optional<EdgeName> edge_name(const std::string& text) {
    if (text.empty()) return std::nullopt;
    EdgeName name;
    std::string_view rest = text;
    for (const auto& [attention, word] : kWords)
        if (rest.starts_with(word)) {
            name.attention = attention;
            rest.remove_prefix(word.size());
        }
    std::int64_t* const numbers[] = {&name.layer, &name.from, &name.to};
    const char* at = rest.data();
    const char* end = at + rest.size();
    for (int i = 0; i < 3; ++i) {
        const auto [next, wrong] = std::from_chars(at, end, *numbers[i]);
        if (wrong != std::errc() || (i < 2 ? next == end || *next != ':' : next != end))
            throw Error({.problem = "This is not the name of an edge",
                         .item = "edge",
                         .expected = "LAYER:FROM:TO, as 3:4:13; behind an encoder also cross:3:4:13 and encoder:3:4:13",
                         .found = text});
        at = next + 1;
    }
    return name;
}

std::string text_of(const EdgeName& edge) {
    std::string text;
    for (const auto& [attention, word] : kWords)
        if (attention == edge.attention) text = word;
    return text + std::to_string(edge.layer) + ":" + std::to_string(edge.from) + ":" + std::to_string(edge.to);
}

std::optional<EdgeName> name_of_edge(const ContributionEdge& edge) {
    if (edge.kind != analyze::EdgeKind::attention && edge.kind != analyze::EdgeKind::cross) return std::nullopt;
    return EdgeName{edge.kind == analyze::EdgeKind::cross ? Attention::cross
                    : edge.in_encoder                     ? Attention::encoder
                                                          : Attention::own,
                    edge.layer, edge.from, edge.to};
}

double contribution_width(double weight, const ContributionLayout& at) { return std::max(0.6, at.widest * weight); }

double ContributionLayout::x(ContributionToken token) const {
    const auto& all = token.of_source ? source_columns : columns;
    const auto found = std::lower_bound(all.begin(), all.end(), token.position);
    return (token.of_source ? source_left : left) + pitch_x * (static_cast<double>(found - all.begin()) + 0.5);
}

bool ContributionLayout::has(ContributionToken token) const {
    const auto& all = token.of_source ? source_columns : columns;
    return std::binary_search(all.begin(), all.end(), token.position);
}

double ContributionLayout::y_before(std::int64_t layer, bool in_encoder) const {
    return in_encoder ? source_bottom - source_pitch_y * double(layer) : bottom - pitch_y * double(layer);
}

double ContributionLayout::y_behind_attention(std::int64_t layer, bool in_encoder) const {
    if (in_encoder) return source_bottom - source_pitch_y * (double(layer) + 0.58);
    return bottom - pitch_y * (double(layer) + (two() ? 0.4 : 0.58));
}

double y_before_mlp(const ContributionLayout& at, std::int64_t layer, bool in_encoder) {
    return at.two() && !in_encoder ? at.y_behind_cross(layer) : at.y_behind_attention(layer, in_encoder);
}

ContributionLayout contribution_layout(const ContributionGraphData& data, QSizeF available) {
    ContributionLayout at;
    at.layers = data.graph->layers;
    at.source_layers = data.graph->source_layers;
    at.source_left = ContributionLayout::margin + ContributionLayout::layer_room;
    const double between = at.two() ? ContributionLayout::layer_room + 12 : 0;
    const double room = std::max(120.0, available.width() - at.source_left - between - ContributionLayout::margin);
    if (static_cast<double>(data.tokens.size() + data.source.size()) * roomy <= room) {
        at.columns = all_of(data.tokens);
        at.source_columns = all_of(data.source);
    } else {
        for (const ContributionToken& token : touched_tokens(*data.graph))
            (token.of_source ? at.source_columns : at.columns).push_back(token.position);
    }
    const auto own = static_cast<double>(at.columns.size()), read = static_cast<double>(at.source_columns.size());
    at.pitch_x = std::clamp(room / (own + read), least_pitch, 96.0);
    at.left = at.source_left + at.pitch_x * read + between;
    at.widest = std::clamp(0.7 * at.pitch_x, 2.5, 9.0);  // neighbours do not run into each other
    at.width = std::max(available.width(), at.left + at.pitch_x * own + ContributionLayout::margin);
    const QFont font = ui_font(label_size);
    std::vector<double> widths;
    for (const std::int64_t p : at.columns)
        widths.push_back(draw::token_width(draw::label_in(data.tokens, static_cast<std::size_t>(p)), font));
    for (const std::int64_t p : at.source_columns)
        widths.push_back(draw::token_width(draw::label_in(data.source, static_cast<std::size_t>(p)), font));
    at.fit = draw::fit_columns(widths, at.pitch_x, QFontMetricsF(font).height(), 110);
    at.label_extent = std::ceil(at.fit.extent) + 8;
    const double around = ContributionLayout::header + at.label_extent + ContributionLayout::legend + 20;
    const double step = at.two() ? with_cross : 1, layers = step * double(at.layers) + double(at.source_layers);
    const bool deep = layers > 16;  // lower layers, of which more are in sight
    at.source_pitch_y = available.height() > 0 ? std::clamp((available.height() - around) / layers, deep ? 26.0 : 46.0, 110.0)
                        : deep                 ? 36
                                               : 64;
    at.pitch_y = step * at.source_pitch_y;
    at.top = ContributionLayout::header;
    at.bottom = at.top + at.pitch_y * double(at.layers);
    at.source_bottom = at.bottom + at.source_pitch_y * double(at.source_layers);  // one text: its own bottom
    at.height = at.source_bottom + at.label_extent + ContributionLayout::legend;
    return at;
}

QPainterPath ContributionFigure::path(const ContributionEdge& edge) const {
    const bool of_encoder = edge.in_encoder;
    const double from = at_.x(from_token(edge)), to = at_.x(to_token(edge)), before = at_.y_before(edge.layer, of_encoder),
                 middle = at_.y_behind_attention(edge.layer, of_encoder), joined = y_before_mlp(at_, edge.layer, of_encoder),
                 after = at_.y_before(edge.layer + 1, of_encoder);
    QPainterPath line;
    const auto curve = [&](double end) {
        const double reach = 0.5 * (before - end);
        line.cubicTo(QPointF(from, before - reach), QPointF(to, end + reach), QPointF(to, end));
    };
    const auto straight = [&](double begin, double end) {
        line.moveTo(from, begin);
        line.lineTo(to, end);
    };
    switch (edge.kind) {
        case analyze::EdgeKind::attention:
            // Beside the stream when it is the token's own: the line past the attention runs straight up.
            line.moveTo(from, before);
            if (edge.from == edge.to) {
                const double bow = std::min(14.0, 0.42 * at_.pitch_x);
                line.cubicTo(QPointF(from - bow, before - 0.2 * (before - middle)),
                             QPointF(from - bow, middle + 0.2 * (before - middle)), QPointF(to, middle));
            } else {
                curve(middle);
            }
            break;
        case analyze::EdgeKind::cross:
            line.moveTo(from, before);
            curve(joined);
            break;
        case analyze::EdgeKind::residual: straight(before, middle); break;
        case analyze::EdgeKind::cross_residual: straight(middle, joined); break;
        case analyze::EdgeKind::mlp: {
            const double bow = std::min(22.0, 0.62 * at_.pitch_x), third = (joined - after) / 3;
            line.moveTo(from, joined);
            line.cubicTo(QPointF(from + bow, joined - third), QPointF(from + bow, after + third), QPointF(to, after));
            break;
        }
        case analyze::EdgeKind::mlp_residual: straight(joined, after); break;
    }
    return line;
}

}  // namespace headlight::figure
