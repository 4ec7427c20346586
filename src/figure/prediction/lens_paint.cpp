// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/saved_state.h"
#include "figure/prediction/lens_view.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

const QFont& cell_font() { return ui_font(12); }
/// "#1,234", "#12k" where that is too wide.
QString rank_text(std::int64_t rank, const QFont& font, double width) {
    const QString whole = QStringLiteral("#") + draw::count_text(rank);
    if (rank < 1000 || draw::text_width(whole, font) <= width) return whole;
    return QStringLiteral("#%1k").arg(draw::count_text(rank / 1000));
}

/// Two significant digits: "87 %", "3.1 %", "<0.1 %".
QString probability_text(double p) {
    if (p >= 0.0995) return QString::number(p * 100, 'f', 0) + QStringLiteral(" %");
    if (p >= 0.001) return QString::number(p * 100, 'f', 1) + QStringLiteral(" %");
    return QStringLiteral("<0.1 %");
}

/// What stands at the ends of the bar of colours.
draw::ScaleEnds ends_of(LensColor color, double kl_limit, std::int64_t vocab) {
    const auto nats = [](double x) { return QString::number(x, 'f', 1) + QStringLiteral(" nats"); };
    switch (color) {
        case LensColor::probability: break;
        case LensColor::rank: return {QStringLiteral("last"), QStringLiteral("rank 0")};
        case LensColor::entropy: return {QStringLiteral("0"), nats(std::log(static_cast<double>(vocab)))};
        case LensColor::kl: return {QStringLiteral("0"), QStringLiteral("≥ ") + nats(kl_limit)};
    }
    return {QStringLiteral("0"), QStringLiteral("1")};
}

QString name_of(LensColor color) {
    switch (color) {
        case LensColor::probability: return QStringLiteral("probability of the likeliest token");
        case LensColor::rank: return QStringLiteral("rank of the watched token, logarithmic");
        case LensColor::entropy: return QStringLiteral("entropy");
        case LensColor::kl: return QStringLiteral("KL divergence from the output");
    }
    return {};
}

}  // namespace

QSizeF LensFigure::layout(QSizeF available, const Style&, const Selection&) {
    const QFont font = ui_font(14);
    double widest = 0;
    qsizetype longest = 0;
    for (const analyze::AxisItem& item : data_.labels) longest = std::max(longest, static_cast<qsizetype>(item.label.size()));
    int measured = 0;
    for (const analyze::AxisItem& item : data_.labels)
        if (static_cast<qsizetype>(item.label.size()) + 2 >= longest && measured++ < 64)
            widest = std::max(widest, draw::token_width(draw::label_of(item), font));
    at_ = lens_layout(data_, available.width(), widest + 4);
    seen_ = {0, 0, at_.width, at_.height};
    return {at_.width, at_.height};
}

template <class Paint>
void LensFigure::each_column(bool layers, Paint paint) const {
    if (!layers) return paint(at_.layers);
    const QRectF room = layers_in_sight();
    for (std::int64_t column = 0; column < at_.layers; ++column)
        if (at_.cell_x(column) < room.right() && at_.cell_x(column) + at_.cell_width > room.left()) paint(column);
}

void LensFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    seen_ = QRectF(0, 0, at_.width, at_.height);
    if (!style.exporting) seen_ &= exposed;
    const double shift = std::max(0.0, seen_.top() - LensLayout::sticky_top);
    const double footer = seen_.bottom() - LensLayout::footer_height;
    painter.setRenderHint(QPainter::Antialiasing);
    const double rows_top = LensLayout::sticky_top + LensLayout::heading_height + shift;
    const QRectF layers = layers_in_sight();
    {
        const draw::SavedState saved(painter);
        painter.setClipRect(QRectF(0, rows_top, at_.width, footer - rows_top), Qt::IntersectClip);
        const QRectF seen = draw::on_target(painter, exposed);
        const double first = std::max(seen.top(), rows_top), last = std::min(seen.bottom(), footer);
        const auto each_row = [&](auto paint_it) {
            for (std::int64_t row = 0; row < at_.rows; ++row) {
                const double top = at_.row_top(row);
                if (top > last) break;
                if (top + LensLayout::row_height >= first) paint_it(row);
            }
        };
        each_row([&](std::int64_t row) { paint_row(painter, row, style, selection); });
        if (at_.opened >= 0) paint_list(painter, style);
        painter.setClipRect(layers, Qt::IntersectClip);
        each_row([&](std::int64_t row) { paint_cells(painter, row, true, style); });
        if (at_.opened >= 0) paint_candidates(painter, true, style);
    }
    paint_heading(painter, shift, style);
    // Where layers go on under the edge of what stays.
    const auto edge = [&](double x) { painter.fillRect(QRectF(x, rows_top - 4, 1, footer - rows_top + 4), style.theme->line); };
    if (layers.left() > at_.cells_x + 0.5) edge(layers.left() - 4);
    if (layers.right() < at_.cell_x(at_.layers) - LensLayout::output_gap - 0.5) edge(layers.right() + 4);
    paint_footer(painter, footer, style);
}

void LensFigure::paint_cells(QPainter& painter, std::int64_t row, bool layers, const Style& style) const {
    const Theme& theme = *style.theme;
    const double top = at_.row_top(row), baseline = draw::centred_baseline(top + LensLayout::row_height / 2, cell_font());
    each_column(layers, [&](std::int64_t column) {
        const analyze::LensState& s = state(column, row);
        const double t = strength(s);
        const QRectF cell(column_x(column) + 1, top + 1, at_.column_width(column) - 2, LensLayout::row_height - 2);
        const QColor color = std::isnan(t) ? theme.panel : ramp_color(style.ramp, theme, t);
        draw::box(painter, cell, 3, color);
        const QString whole = data_.color != LensColor::rank ? word(s.top.front().id)
                              : s.watched_rank < 0           ? QString()
                                                             : QStringLiteral("#") + draw::count_text(s.watched_rank);
        const QString text = draw::elided(whole, cell_font(), cell.width() - (cell.width() < 48 ? 4 : 8));
        draw::text(painter, {cell.center().x(), baseline}, text, cell_font(), text_on(theme, color), draw::Align::center);
    });
}

/// What stays beside the layers: the token, the output and the next token; behind all of it the mark of the row.
void LensFigure::paint_row(QPainter& painter, std::int64_t row, const Style& style, const Selection& selection) const {
    style.cancel.throw_if_cancelled();
    const Theme& theme = *style.theme;
    const QFont token_font = ui_font(14), small = ui_font(11);
    const double top = at_.row_top(row), baseline = draw::centred_baseline(top + LensLayout::row_height / 2, cell_font());
    const double left = tokens_shift(), next_x = at_.next_x + output_shift();
    const bool hovered = !style.exporting && selection.hover_query == Position(row);
    const bool pinned = at_.opened == row;
    if (hovered || pinned)
        draw::box(painter, QRectF(LensLayout::margin, top + 1, at_.width - 2 * LensLayout::margin, LensLayout::row_height - 2), 6,
                  pinned ? theme.accent_soft : theme.chip);
    draw::number(painter, {left + at_.token_x - 10, baseline}, QString::number(row), small, theme.muted, draw::Align::right);
    draw::token(painter, QRectF(left + at_.token_x, top, at_.token_width, LensLayout::row_height),
                draw::label_of(data_.labels[static_cast<std::size_t>(row)]), token_font, theme, draw::Align::left,
                pinned ? theme.accent : QColor());
    paint_cells(painter, row, false, style);
    const std::int64_t next = data_.next[static_cast<std::size_t>(row)];
    if (next < 0) return;
    const analyze::LensState& output = state(at_.layers, row);
    const bool right = output.top.front().id == next;
    const QString said = output.watched_rank >= 0 && output.watched.id == next
                             ? probability_text(static_cast<double>(output.watched.probability))
                             : QString();
    const double said_width = said.isEmpty() ? 0 : draw::text_width(said, note_font()) + 10;
    const QString text = draw::elided(word(next), cell_font(), at_.next_width - 24 - said_width);
    draw::text(painter, {next_x, baseline}, text, cell_font(), right ? theme.text : theme.muted);
    draw::text(painter, {next_x + draw::text_width(text, cell_font()) + 10, baseline}, said, note_font(), theme.muted);
}

void LensFigure::paint_list(QPainter& painter, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const double top = at_.row_top(at_.opened) + LensLayout::row_height;
    painter.fillRect(QRectF(LensLayout::margin, top + 2, at_.width - 2 * LensLayout::margin, at_.list_height() - 4), theme.panel);
    for (std::int64_t k = 0; k < at_.candidates; ++k) {
        const double baseline = draw::centred_baseline(at_.candidate_top(k) + LensLayout::candidate_height / 2, small);
        draw::text(painter, {tokens_shift() + at_.token_x + at_.token_width, baseline},
                   draw::elided(word(data_.history.ids[static_cast<std::size_t>(k)]), note_font(), at_.token_width + 30),
                   note_font(), theme.text, draw::Align::right);
    }
    paint_candidates(painter, false, style);
    const auto note = [&](std::int64_t candidate, const QString& text) {
        const double y = at_.candidate_top(candidate) + LensLayout::candidate_height / 2;
        draw::text(painter, {at_.next_x + output_shift(), draw::centred_baseline(y, note_font())}, text, note_font(),
                   theme.muted);
    };
    note(0, QStringLiteral("likeliest in layer %1:").arg(data_.opened_layer));
    note(1, QStringLiteral("probability and rank"));
}

void LensFigure::paint_candidates(QPainter& painter, bool layers, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const std::int64_t width = at_.candidates;
    for (std::int64_t k = 0; k < width; ++k) {
        const double y = at_.candidate_top(k), baseline = draw::centred_baseline(y + LensLayout::candidate_height / 2, small);
        each_column(layers, [&](std::int64_t column) {
            const auto i = static_cast<std::size_t>(column * width + k);
            const QColor color = ramp_color(style.ramp, theme, static_cast<double>(data_.history.scores[i].probability));
            const QRectF cell(column_x(column) + 1, y + 1, at_.column_width(column) - 2, LensLayout::candidate_height - 2);
            draw::box(painter, cell, 2, color);
            if (column == data_.opened_layer) {
                painter.setPen(QPen(theme.accent, 1));
                painter.setBrush(Qt::NoBrush);
                painter.drawRoundedRect(cell, 2, 2);
            }
            const QString rank = rank_text(data_.history.ranks[i], small, cell.width() - 4);
            if (draw::text_width(rank, small) <= cell.width() - 4)
                draw::text(painter, {cell.center().x(), baseline}, rank, small, text_on(theme, color), draw::Align::center);
        });
    }
}

void LensFigure::paint_heading(QPainter& painter, double shift, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13);
    const double left = tokens_shift();
    draw::text(painter, {left + LensLayout::margin + 8, LensLayout::title_baseline}, title(), heading, theme.text);
    draw::text(painter, {left + LensLayout::margin + 24 + draw::text_width(title(), heading), LensLayout::title_baseline},
               QStringLiteral("the model's prediction, read at %1 of each layer")
                   .arg(QLatin1StringView(analyze::name_of(data_.lens->at))),
               note, theme.muted);
    painter.save();
    painter.translate(0, shift);
    if (shift > 0) painter.fillRect(QRectF(0, LensLayout::sticky_top, at_.width, LensLayout::heading_height), theme.canvas);
    const double baseline = LensLayout::sticky_top + 20;
    draw::text(painter, {left + at_.token_x, baseline}, QStringLiteral("token"), note_font(), theme.muted);
    const auto name = [&](std::int64_t column) {
        const QString long_name = QStringLiteral("layer 0");
        const bool fits = draw::text_width(long_name, note_font()) <= at_.cell_width;
        const QString text = column == at_.layers  ? QStringLiteral("output")
                             : column == 0 && fits ? long_name
                                                   : QString::number(column);
        draw::text(painter, {column_x(column) + at_.column_width(column) / 2, baseline}, text, note_font(), theme.muted,
                   draw::Align::center);
    };
    painter.save();
    painter.setClipRect(layers_in_sight(), Qt::IntersectClip);
    each_column(true, name);
    painter.restore();
    each_column(false, name);
    if (std::ranges::any_of(data_.next, [](std::int64_t id) { return id >= 0; }))  // a picture has no next token
        draw::text(painter, {at_.next_x + output_shift(), baseline},
                   data_.causal ? QStringLiteral("next in the text") : QStringLiteral("in the text"), note_font(), theme.muted);
    painter.fillRect(QRectF(LensLayout::margin, LensLayout::sticky_top + LensLayout::heading_height - 5,
                            at_.width - 2 * LensLayout::margin, 1),
                     theme.line);
    painter.restore();
}

void LensFigure::paint_footer(QPainter& painter, double top, const Style& style) const {
    const Theme& theme = *style.theme;
    painter.fillRect(QRectF(0, top, at_.width, LensLayout::footer_height), theme.canvas);
    painter.fillRect(QRectF(LensLayout::margin, top, at_.width - 2 * LensLayout::margin, 1), theme.line);
    const double left = tokens_shift() + at_.token_x;
    const QRectF bar(left, top + 13, 150, 10);
    const auto [low, high] = ends_of(data_.color, kl_limit_, data_.lens->vocab);
    const double right = draw::ramp_bar(painter, bar, style.ramp, low, high, theme);
    QString what = name_of(data_.color);
    if (data_.color == LensColor::rank)
        what += data_.lens->watched ? QStringLiteral(" (%1)").arg(word(*data_.lens->watched))
                                    : QStringLiteral(" (the next one in the text)");
    draw::text(painter, {right + 16, top + 22}, what, note_font(), theme.muted);
    draw::text(painter, {left, top + 44},
               QStringLiteral("read by the %1; the norm's statistics are those of each state")
                   .arg(QString::fromStdString(data_.read_as)),
               note_font(), theme.muted);
}

}  // namespace headlight::figure
