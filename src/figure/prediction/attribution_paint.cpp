// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/prediction/attribution_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::figure {
namespace {

/// Colours of small parts stay visible: the square root of the share of the largest.
QColor part_color(const Theme& theme, double value, double limit) {
    return signed_color(theme, std::copysign(std::sqrt(std::min(1.0, std::abs(value) / limit)), value));
}

}  // namespace

void AttributionFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13);
    double y = 36;
    for (qsizetype i = 0; i < heading_.size(); ++i, y += 20)
        out.text({AttributionLayout::margin, y}, heading_[i], heading, theme.text);
    for (qsizetype i = 0; i < behind_.size(); ++i, y += 18)
        out.text({AttributionLayout::margin, y}, behind_[i], note, theme.muted);
    if (heading_.isEmpty()) {
        out.text({AttributionLayout::margin, y}, title(), heading, theme.text);
        out.text({AttributionLayout::margin + draw::text_width(title(), heading) + 16, y}, behind_title(), note, theme.muted);
    }
    draw_map(out, style, selection);
    draw_bars(out, style);
    draw_sources(out, seen, style, selection);
}

void AttributionFigure::draw_map(Scene& out, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const double top = at_.map_top - 10;
    const bool cross = data_.cross.size() > 0;
    out.text({at_.map_x, top - 18}, cross ? QStringLiteral("heads, own") : QStringLiteral("heads"), note_font(), theme.muted);
    if (cross) out.text({at_.cross_x, top - 18}, QStringLiteral("heads, cross"), note_font(), theme.muted);
    out.text({at_.mlp_x + at_.cell * 0.8, top - 2}, QStringLiteral("MLP"), note_font(), theme.muted, draw::Align::center);
    const double label = draw::text_width(QString::number(at_.heads - 1), small) + 6;
    const auto stride = static_cast<std::int64_t>(std::ceil(std::max(18.0, label) / at_.cell));
    const double mlp_left = at_.mlp_x + at_.cell * 0.8 - draw::text_width(QStringLiteral("MLP"), note_font()) / 2 - label / 2;
    for (std::int64_t h = 0; h < at_.heads; h += stride)
        for (const double left : {at_.map_x, cross ? at_.cross_x : at_.map_x})
            if (const double x = left + (static_cast<double>(h) + 0.5) * at_.cell; x < mlp_left)
                out.text({x, top - 2}, QString::number(h), small, theme.muted, draw::Align::center);
    const auto rows = static_cast<std::int64_t>(std::ceil(14.0 / at_.row));
    for (std::int64_t l = 0; l < at_.layers; ++l) {
        if (l % rows == 0)
            out.number({at_.map_x - 8, draw::centred_baseline(at_.head_cell(l, 0).center().y(), small)},
                       l == 0 ? QStringLiteral("L0") : QString::number(l), small, theme.muted, draw::Align::right);
        const double small_side = std::min(at_.cell, at_.row), inset = small_side >= 12 ? 1 : small_side >= 6 ? 0.5 : 0.25;
        const auto cell = [&](const QRectF& where, double value, const Hit& hit, const Scene::Tip& tip) {
            if (!std::isfinite(value)) return;
            const QRectF box = where.adjusted(inset, inset, -inset, -inset);
            // A part of zero has the canvas's colour: the outline shows its cell.
            out.box(box, small_side >= 12 ? 3 : 0, part_color(theme, value, limit_), small_side >= 12 ? theme.line : QColor());
            out.means(where, hit, tip);
        };
        for (const bool of_cross : {false, true})
            for (std::int64_t h = 0; h < at_.heads && (!of_cross || cross); ++h) {
                const HeadId id{Layer(l), Head(h)};
                const auto of = out.of(id);
                const double value = of_cross ? data_.cross(l, h) : data_.heads(l, h);
                cell(of_cross ? at_.cross_cell(l, h) : at_.head_cell(l, h), value, head_hit(id, of_cross, value),
                     [this, id, of_cross, value] {
                         return QStringLiteral("%1 adds %2 to %3").arg(head_part(id, of_cross), tip_number(value), what()) +
                                other_attention(of_cross);
                     });
            }
        const double mlp = data_.mlps[l];
        cell(at_.mlp_cell(l), mlp, mlp_hit(l, mlp),
             [this, l, mlp] { return QStringLiteral("MLP of layer %1 adds %2 to %3").arg(l).arg(tip_number(mlp), what()); });
    }
    const auto ring = [&](const QRectF& where, double width) {
        out.box(where.adjusted(0.5, 0.5, -0.5, -0.5), 3, {}, theme.accent, width);
    };
    const auto place = [&](HeadId id) {
        return data_.of_cross ? at_.cross_cell(id.layer.value, id.head.value) : at_.head_cell(id.layer.value, id.head.value);
    };
    ring(place(data_.head), 2);
    if (data_.mlp) ring(at_.mlp_cell(data_.mlp->value), 2);
    if (!style.exporting && selection.hover_head && selection.hover_head->layer.value < at_.layers)
        ring(place(*selection.hover_head), 1);

    const QRectF bar(at_.map_x, at_.map_bottom + 16, 150, 10);
    for (int i = 0; i < 150; ++i) {
        const double x = (i - 74.5) / 75.0 * limit_;
        out.fill(QRectF(bar.left() + i, bar.top(), 1.5, bar.height()), part_color(theme, x, limit_));
    }
    out.text({bar.left(), bar.bottom() + 14}, part_text(-limit_), small, theme.muted);
    out.text({bar.center().x(), bar.bottom() + 14}, QStringLiteral("0"), small, theme.muted, draw::Align::center);
    out.text({bar.right(), bar.bottom() + 14}, part_text(limit_), small, theme.muted, draw::Align::right);
    // Beside the scale, or under it where few heads leave no room before the bars.
    const QString scale = QStringLiteral("colour: √ of the part");
    const double end = at_.bars_top > at_.map_bottom ? at_.width - AttributionLayout::margin : at_.bars_x - 8;
    const bool beside = bar.right() + 14 + draw::text_width(scale, note_font()) < end;
    out.text(beside ? QPointF(bar.right() + 14, bar.bottom()) : QPointF(bar.left(), bar.bottom() + 32), scale, note_font(),
             theme.muted);
}

void AttributionFigure::draw_bars(Scene& out, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont font = ui_font(12.5), strong = ui_font(12.5, QFont::DemiBold);
    out.text({at_.bars_x, at_.bars_top - 12}, QStringLiteral("largest parts"), note_font(), theme.muted);
    const double span = std::max(bar_ends_.high - bar_ends_.low, 1e-9);
    const auto x_of = [&](double value) { return at_.bar_x + (value - bar_ends_.low) / span * at_.bar_width; };
    const double rows = static_cast<double>(at_.bars) * AttributionLayout::bar_height;
    out.fill(QRectF(x_of(0) - 0.5, at_.bars_top, 1, rows + 8 + AttributionLayout::bar_height), theme.line);
    const auto bar = [&](double top, double value, const QColor& color) {
        const double a = x_of(std::min(0.0, value)), b = x_of(std::max(0.0, value));
        out.box(QRectF(a, top + 5, std::max(1.0, b - a), AttributionLayout::bar_height - 10), 2, color);
    };
    const double right = at_.bar_x + at_.bar_width + AttributionLayout::number_width;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
        const NamedPart& part = bars_[i];
        const QRectF row = at_.bar_row(static_cast<std::int64_t>(i));
        const double baseline = draw::centred_baseline(row.center().y(), font);
        const bool shown = (part.head && *part.head == data_.head && part.cross == data_.of_cross) ||
                           (data_.mlp && part.mlp == data_.mlp->value);
        out.text({row.left(), baseline}, part.name, shown ? strong : font, shown ? theme.accent : theme.text);
        bar(row.top(), part.value, part.value < 0 ? theme.negative : theme.positive);
        out.number({right, baseline}, part_text(part.value), font, theme.muted, draw::Align::right);
        Hit hit = part.head ? head_hit(*part.head, part.cross, part.value) : mlp_hit(part.mlp, part.value);
        out.means(row, std::move(hit), [this, &part] {
            return part.name + QStringLiteral("  ") + tip_number(part.value) +
                   (part.head ? other_attention(part.cross) : QString());
        });
    }
    const double top = at_.bars_top + rows + 8,
                 baseline = draw::centred_baseline(top + AttributionLayout::bar_height / 2, strong);
    out.fill(QRectF(at_.bars_x, top - 4, right - at_.bars_x, 1), theme.line);
    out.text({at_.bars_x, baseline},
             data_.other        ? data_.other->sum
             : data_.difference ? QStringLiteral("sum = difference")
                                : QStringLiteral("sum = logit"),
             strong, theme.text);
    bar(top, data_.split.total, theme.muted);
    out.number({right, baseline}, part_text(data_.split.total), strong, theme.text, draw::Align::right);
}

QStringList AttributionFigure::strongest_sources() const {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(data_.sources.size()));
    std::iota(order.begin(), order.end(), 0);
    const auto size = [&](Eigen::Index j) { return std::abs(data_.sources[j]); };
    const auto count = std::min<std::size_t>(3, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](Eigen::Index a, Eigen::Index b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
    order.resize(count);
    QStringList names;
    for (const Eigen::Index j : order)
        if (size(j) > 0) names << label_at(data_.labels, Position(j)) + QStringLiteral(" ") + part_text(data_.sources[j]);
    return names;
}

QString AttributionFigure::sources_text() const {
    QString said = (data_.of_cross ? QStringLiteral("adds %1, through these tokens of the source")
                                   : QStringLiteral("adds %1, through these tokens"))
                       .arg(part_text(data_.sources.sum()));
    // In a long text they may stand far below.
    const QStringList most = strongest_sources();
    if (!most.isEmpty()) said += QStringLiteral(", most through   ") + most.join(QStringLiteral("   "));
    said += QStringLiteral("   (attention × value × output matrix)");
    return said;
}

void AttributionFigure::draw_sources(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont strong = ui_font(13, QFont::DemiBold);
    const double y = at_.sources_top;
    out.fill(QRectF(AttributionLayout::margin, y - 24, at_.width - 2 * AttributionLayout::margin, 1), theme.line);
    const QString name = head_part(data_.head, data_.of_cross);
    out.text({AttributionLayout::margin, y}, name, strong, theme.text);
    const double left = AttributionLayout::margin + draw::text_width(name, strong) + 12;
    for (qsizetype i = 0; i < said_.size(); ++i)
        out.text({left, y + AttributionLayout::said_line * static_cast<double>(i)}, said_[i], note_font(), theme.muted);
    flow_.draw_on(
        out, seen, theme,
        [&](std::size_t i) {
            const auto j = static_cast<Eigen::Index>(i);
            // Causal models read no later tokens.
            return data_.sources[j] == 0 ? QColor() : part_color(theme, data_.sources[j], source_limit_);
        },
        [&](Position at, const QRectF& box) {
            const double value = data_.sources[at.value];
            out.means(box, {.kind = Hit::Kind::key, .key = at, .value = value}, [this, at, value] {
                return QStringLiteral("%1 through %2 adds %3")
                    .arg(label_at(data_.labels, at), head_part(data_.head, data_.of_cross), tip_number(value));
            });
        },
        style.exporting ? std::nullopt : selection.key());
    out.text({AttributionLayout::margin, y + said_height() + flow_.height() + 24},
             QStringLiteral("full colour: ±%1; colour: √ of the part").arg(part_text(source_limit_)), note_font(), theme.muted);
}

}  // namespace headlight::figure
