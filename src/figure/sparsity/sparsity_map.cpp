// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/sparsity/sparsity_map.h"

#include "figure/core/axis_words.h"
#include "figure/core/wrapped.h"
#include "headlight/figure/core/round_step.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using analyze::SparseScheme;

constexpr double largest_sparse_cell = 30, most_key_label = 96, tint_strength = 0.42, least_sparse_map = 220;
constexpr std::int64_t most_named = 200, most_vector_rects = 40'000;

constexpr double cost_line = 18;
const QFont& cost_font() { return ui_font(12.5); }

/// Keys that a scheme reads in one way.
struct Region {
    analyze::Matrix analyze::SparseMap::*share;  ///< of the pairs of a cell
    double analyze::KeptMass::*mass;             ///< of a row
    int hue;                                     ///< of the heads' colours; -1: muted
};
constexpr Region window_region{&analyze::SparseMap::window, &analyze::KeptMass::window, 2},
    selected_region{&analyze::SparseMap::selected, &analyze::KeptMass::selected, 1},
    compressed_region{&analyze::SparseMap::compressed, &analyze::KeptMass::compressed, -1};

QColor tint(const Theme& theme, const Region& region) {
    return region.hue < 0 ? theme.muted : theme.heads[static_cast<std::size_t>(region.hue)];
}

/// Those of a scheme, with their names.
std::vector<std::pair<const Region*, QString>> regions_of(const analyze::SparsityOptions& o) {
    const auto count = [](std::int64_t n) { return draw::count_text(n); };
    const QString window = QStringLiteral("window of %1").arg(count(o.window));
    switch (o.scheme) {
        case SparseScheme::window: return {{&window_region, window}};
        case SparseScheme::sinks:
            return {{&selected_region, QStringLiteral("first %1").arg(count(o.sinks))}, {&window_region, window}};
        case SparseScheme::topk: return {{&selected_region, QStringLiteral("largest %1 of the row").arg(count(o.budget))}};
        case SparseScheme::longformer:
            return {{&window_region, o.dilation == 1
                                         ? window
                                         : QStringLiteral("window of %1, one key in %2").arg(count(o.window), count(o.dilation))},
                    {&selected_region, QStringLiteral("global tokens")}};
        case SparseScheme::nsa: break;
    }
    return {{&window_region, window},
            {&selected_region, QStringLiteral("%1 selected blocks of %2").arg(count(o.top), count(o.select))},
            {&compressed_region, QStringLiteral("compressed blocks of %1, every %2").arg(count(o.block), count(o.stride))}};
}

void outline(Scene& out, const QRectF& box, const QPen& pen) { out.box(box, 0, {}, pen.color(), pen.widthF()); }

}  // namespace

QString percent_text(double share) {
    if (std::isnan(share)) return QStringLiteral("–");
    return draw::number_text(100 * share, share < 0.0995 ? 1 : 0) + QStringLiteral(" %");
}

SparsityMapFigure::SparsityMapFigure(SparsityMapData data) : data_(std::move(data)) {
    if (data_.map.queries > most_named) return;
    for (const auto& token : data_.tokens) label_widths_.push_back(draw::token_width(draw::label_of(token), small_font()));
}

QString SparsityMapFigure::title() const {
    return with_attention(
        QStringLiteral("%1 under %2").arg(head_name(data_.map.head), QString::fromUtf8(enum_row(data_.options.scheme).title)),
        data_.attention);
}

QString SparsityMapFigure::description() const {
    return QStringLiteral(
        "What the head would keep of its attention if it read only the keys that a sparse scheme lets it read: the model's own "
        "weights, counted, with nothing run again. Rows are queries, columns keys. A tint says what reads a key: the window of "
        "the last keys, selected blocks (or sinks, or each row's largest keys), compressed blocks, of which only a summary is "
        "seen, or global tokens. Attention on untinted ground is lost. The bars on the right are the share of each row's weight on keys that are "
        "read one by one. Native Sparse Attention selects blocks by the attention of all heads of a key/value group together. "
        "Yuan et al. 2025, Native Sparse Attention; Xiao et al. 2024, Efficient Streaming Language Models with Attention Sinks; "
        "Beltagy et al. 2020, Longformer.");
}

QSizeF SparsityMapFigure::place(QSizeF available, const Style&, const Selection&) {
    SparsityMapLayout at;
    at.width = std::max(available.width(), 360.0);
    at.cost = wrapped(data_.cost, cost_font(), at.width - 2 * page_margin);
    const double header = SparsityMapLayout::header + cost_line * static_cast<double>(std::max<qsizetype>(0, at.cost.size() - 1));
    const auto n = static_cast<double>(data_.map.queries);
    const double line = QFontMetricsF(small_font()).height();
    const auto put = [&](double extent) {
        at.label_extent = extent;
        const double left = page_margin + extent + 22, top = header + extent + 6;
        const double across = at.width - left - SparsityMapLayout::strip_gap - SparsityMapLayout::strip_width - page_margin;
        const double down = available.height() > 0 ? available.height() - top - SparsityMapLayout::below : across;
        const double side = std::min({std::max(across, 60.0), std::max(down, least_sparse_map), n * largest_sparse_cell, 720.0});
        at.map = QRectF(left, top, side, side);
    };
    const double widest = label_widths_.empty() ? 0 : std::ranges::max(label_widths_);
    put(std::min(widest + 4, most_key_label));
    at.tokens_named = !label_widths_.empty() && at.map.width() / n >= line;
    if (!at.tokens_named) put(draw::number_width(draw::count_text(data_.map.queries), small_font()) + 6);
    at.strip =
        QRectF(at.map.right() + SparsityMapLayout::strip_gap, at.map.top(), SparsityMapLayout::strip_width, at.map.height());
    at.height = at.map.bottom() + SparsityMapLayout::below;
    at_ = at;
    return {at.width, at.height};
}

QColor SparsityMapFigure::cell_color(std::int64_t row, std::int64_t col, const Style& style) const {
    const float weight = data_.map.weight(row, col);
    const Theme& theme = *style.theme;
    if (std::isnan(weight)) return theme.canvas;
    // What several of them read has the first one's tint: mixed tints would be a colour that the legend does not have.
    QColor ground = theme.canvas;
    double left = tint_strength;
    for (const Region* region : {&window_region, &selected_region, &compressed_region}) {
        const double part = left * std::min(1.0, static_cast<double>((data_.map.*region->share)(row, col)));
        if (part > 0) ground = draw::blended(ground, tint(theme, *region), part);
        left -= part;
    }
    // The weight lies over it: no weight shows the ground alone, whatever the ramp begins with.
    const double t = std::clamp(style.transfer(static_cast<double>(weight)), 0.0, 1.0);
    return draw::blended(ground, ramp_color(style.ramp, theme, t), std::min(1.0, 1.2 * std::sqrt(t)));
}

void SparsityMapFigure::paint_cells(QPainter& painter, const Style& style) const {
    const std::int64_t n = data_.map.cells;
    if (draw::is_vector(painter) && n * n <= most_vector_rects) {
        const double cell = at_.map.width() / static_cast<double>(n);
        for (std::int64_t r = 0; r < n; ++r)
            for (std::int64_t c = 0; c < n; ++c)
                if (!std::isnan(data_.map.weight(r, c)))
                    painter.fillRect(QRectF(at_.map.left() + static_cast<double>(c) * cell,
                                            at_.map.top() + static_cast<double>(r) * cell, cell + 0.05, cell + 0.05),
                                     cell_color(r, c, style));
        return;
    }
    if (image_.isNull() || image_theme_ != style.theme || image_ramp_ != style.ramp || image_transfer_ != style.transfer) {
        image_ = QImage(static_cast<int>(n), static_cast<int>(n), QImage::Format_RGB32);
        for (std::int64_t r = 0; r < n; ++r) {
            auto* line = reinterpret_cast<QRgb*>(image_.scanLine(static_cast<int>(r)));
            for (std::int64_t c = 0; c < n; ++c) line[c] = cell_color(r, c, style).rgb();
        }
        image_theme_ = style.theme, image_ramp_ = style.ramp, image_transfer_ = style.transfer;
    }
    const bool smaller = at_.map.width() * draw::device_scale(painter) < static_cast<double>(n);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, smaller);
    painter.drawImage(at_.map, image_);
}

QRectF SparsityMapFigure::row_rect(std::int64_t query) const {
    const double height = at_.map.height() / static_cast<double>(data_.map.queries);
    return {at_.map.left(), at_.map.top() + static_cast<double>(query) * height, at_.map.width(), height};
}

std::optional<QRectF> SparsityMapFigure::row_of_query(Position p) const {
    if (p.value < 0 || p.value >= data_.map.queries) return std::nullopt;
    return row_rect(p.value);
}

/// Bars of the mean over the rows of a pixel; the lowest row of each as a line.
void SparsityMapFigure::draw_strip(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const std::int64_t n = data_.map.queries,
                       bars = std::min<std::int64_t>(n, std::max<std::int64_t>(1, std::int64_t(at_.strip.height())));
    const double height = at_.strip.height() / static_cast<double>(bars);
    out.fill(at_.strip, theme.panel);
    const double gap = height > 6 ? 1 : 0;
    for (std::int64_t b = 0; b < bars; ++b) {
        double sum = 0, least = 1;
        std::int64_t rows = 0;
        for (std::int64_t q = b * n / bars; q < (b + 1) * n / bars; ++q) {
            const double kept = data_.map.rows[static_cast<std::size_t>(q)].kept;
            if (std::isnan(kept)) continue;
            sum += kept, ++rows, least = std::min(least, kept);
        }
        if (rows == 0) continue;
        const double y = at_.strip.top() + static_cast<double>(b) * height;
        const auto bar = [&](double share, const QColor& color) {
            out.fill(QRectF(at_.strip.left(), y, at_.strip.width() * share, height - gap), color);
        };
        bar(sum / static_cast<double>(rows), draw::faded(theme.accent, rows > 1 ? 0.45 : 0.85));
        if (rows > 1) bar(least, draw::faded(theme.accent, 0.85));
    }
    outline(out, at_.strip, draw::hairline(theme.line, style));
    out.means(at_.strip, n, 1, [this](std::int64_t query, std::int64_t) { return strip_hit(query); });
    out.text({at_.strip.left(), at_.strip.top() - 6}, QStringLiteral("mass kept"), small_font(), theme.muted);
    const double y = at_.strip.bottom() + 14;
    out.number({at_.strip.left(), y}, QStringLiteral("0"), small_font(), theme.muted, draw::Align::left);
    out.number({at_.strip.right(), y}, QStringLiteral("1"), small_font(), theme.muted, draw::Align::right);
}

void SparsityMapFigure::draw_axes(Scene& out, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const std::int64_t n = data_.map.queries;
    const double cell = at_.map.width() / static_cast<double>(n), line = QFontMetricsF(small_font()).height();
    const auto row_label = [&](double y) { return QRectF(page_margin + 16, y - line / 2, at_.label_extent, line); };
    const auto column_label = [&](double x) {
        return QRectF(x - line / 2, at_.map.top() - at_.label_extent - 4, line, at_.label_extent);
    };
    const std::int64_t step = at_.tokens_named ? 1 : round_step(n, at_.map.width(), 44);
    for (std::int64_t i = 0; i < n; i += step) {
        const double middle = (static_cast<double>(i) + 0.5) * cell;
        const double y = at_.map.top() + middle, x = at_.map.left() + middle;
        if (at_.tokens_named) {
            const draw::Label label = draw::label_of(data_.tokens[static_cast<std::size_t>(i)]);
            out.token(row_label(y), label, small_font(), draw::Align::right);
            out.token_upwards(column_label(x), label, small_font());
            continue;
        }
        const QPen tick = draw::hairline(theme.line, style);
        out.line({at_.map.left() - 4, y}, {at_.map.left(), y}, tick);
        out.line({x, at_.map.top() - 4}, {x, at_.map.top()}, tick);
        out.number({at_.map.left() - 6, draw::centred_baseline(y, small_font())}, draw::count_text(i), small_font(), theme.muted,
                   draw::Align::right);
        out.number({x, at_.map.top() - 7}, draw::count_text(i), small_font(), theme.muted, draw::Align::center);
    }
    outline(out, at_.map, draw::hairline(theme.line, style));
    const auto mark = [&](Position p, double width) {
        if (p.value < n)
            outline(out, row_rect(p.value).united(QRectF(at_.strip.right(), row_rect(p.value).top(), 0, 0)),
                    QPen(theme.accent, width));
    };
    if (!style.exporting && selection.hover_query) mark(*selection.hover_query, 1);
    for (const Position p : selection.pinned_queries) mark(p, 1.5);
}

void SparsityMapFigure::draw_legend(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    double x = page_margin, y = at_.map.bottom() + 30;
    const double baseline = draw::centred_baseline(y, small_font());
    const draw::ScaleEnds ends = draw::scale_ends(style.transfer);
    out.text({x, baseline}, draw::amount_name(style.transfer), small_font(), theme.muted);
    x += draw::text_width(draw::amount_name(style.transfer), small_font()) + 18;
    x = out.ramp_bar(QRectF(x, y - 5, 80, 10), style, ends) + 22;
    for (const auto& [region, name] : regions_of(data_.options)) {
        const double width = 18 + draw::text_width(name, small_font());
        if (x + width > at_.width - page_margin) x = page_margin, y += 18;
        out.box(QRectF(x, y - 5, 12, 10), 2, draw::blended(theme.canvas, tint(theme, *region), tint_strength), theme.line);
        out.text({x + 18, draw::centred_baseline(y, small_font())}, name, small_font(), theme.text);
        x += width + 18;
    }
}

void SparsityMapFigure::draw_on(Scene& out, const QRectF&, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const double room = at_.width - 2 * page_margin;
    const QFont heading = ui_font(16, QFont::DemiBold);
    out.text({page_margin, 32}, draw::elided(title(), heading, room), heading, theme.text);
    for (qsizetype i = 0; i < at_.cost.size(); ++i)
        out.text({page_margin, 54 + cost_line * static_cast<double>(i)}, at_.cost[i], cost_font(), theme.muted);
    out.picture(at_.map, [this, style](QPainter& painter) { paint_cells(painter, style); });
    out.means(at_.map, data_.map.cells, data_.map.cells, [this](std::int64_t r, std::int64_t c) { return cell_hit(r, c); });
    draw_strip(out, style);
    draw_axes(out, style, selection);
    draw_legend(out, style);
}

QString SparsityMapFigure::named(std::int64_t position) const {
    return draw::label_of(data_.tokens[static_cast<std::size_t>(position)]).with_position(Position(position));
}

Hit SparsityMapFigure::strip_hit(std::int64_t q) const {
    const analyze::KeptMass& row = data_.map.rows[static_cast<std::size_t>(q)];
    QString tip = QStringLiteral("%1  keeps %2").arg(named(q), draw::value_text(row.kept));
    for (const auto& [region, name] : regions_of(data_.options))
        tip += QStringLiteral("  %1: %2").arg(name, draw::value_text(row.*region->mass));
    return {.kind = Hit::Kind::query, .query = Position(q), .value = row.kept, .tip = tip};
}

Hit SparsityMapFigure::cell_hit(std::int64_t r, std::int64_t c) const {
    if (std::isnan(data_.map.weight(r, c))) return {};
    const std::int64_t q = data_.map.first(r), k = data_.map.first(c);
    const auto weight = static_cast<double>(data_.map.weight(r, c));
    const auto span = [&](std::int64_t cell) {
        const std::int64_t first = data_.map.first(cell), last = data_.map.first(cell + 1) - 1;
        return first == last ? named(first) : draw::count_text(first) + QStringLiteral("–") + draw::count_text(last);
    };
    QString tip = QStringLiteral("%1  %2 → %3  %4%5")
                      .arg(head_name(data_.map.head), span(r), span(c),
                           data_.map.cells < data_.map.queries ? QStringLiteral("largest weight ") : QStringLiteral("weight "),
                           draw::value_text(weight));
    bool read = false;
    for (const auto& [region, name] : regions_of(data_.options)) {
        const float share = (data_.map.*region->share)(r, c);
        if (!(share > 0)) continue;
        read = true;
        tip += QStringLiteral("  ") + name;
        if (share < 1) tip += QStringLiteral(" (%1 of the pairs)").arg(percent_text(static_cast<double>(share)));
    }
    if (!read) tip += QStringLiteral("  not read");
    return {
        .kind = Hit::Kind::pair, .head = data_.map.head, .query = Position(q), .key = Position(k), .value = weight, .tip = tip};
}

}  // namespace headlight::figure
