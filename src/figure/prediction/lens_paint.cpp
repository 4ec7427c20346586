// SPDX-License-Identifier: GPL-3.0-or-later
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

QString ends_of(LensColor color, double kl_limit, double vocab, bool low) {
    switch (color) {
        case LensColor::probability: return low ? QStringLiteral("0") : QStringLiteral("1");
        case LensColor::rank: return low ? QStringLiteral("last") : QStringLiteral("rank 0");
        case LensColor::entropy:
            return low ? QStringLiteral("0") : QString::number(std::log(vocab), 'f', 1) + QStringLiteral(" nats");
        case LensColor::kl:
            return low ? QStringLiteral("0") : QStringLiteral("≥ ") + QString::number(kl_limit, 'f', 1) + QStringLiteral(" nats");
    }
    return {};
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
    seen_top_ = 0;
    seen_bottom_ = at_.height;
    return {at_.width, at_.height};
}

QString LensFigure::cell_text(const analyze::LensState& s) const {
    if (data_.color == LensColor::rank)
        return s.watched_rank < 0 ? QString() : QStringLiteral("#") + draw::count_text(s.watched_rank);
    return word(s.top.front().id);
}

void LensFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const bool whole = style.exporting;
    seen_top_ = whole ? 0 : exposed.top();
    seen_bottom_ = whole ? at_.height : std::min(exposed.bottom(), at_.height);
    const double shift = std::max(0.0, seen_top_ - LensLayout::sticky_top);
    const double footer = std::min(at_.height, seen_bottom_) - LensLayout::footer_height;
    painter.setRenderHint(QPainter::Antialiasing);
    const double rows_top = LensLayout::sticky_top + LensLayout::heading_height + shift;
    painter.save();
    painter.setClipRect(QRectF(0, rows_top, at_.width, footer - rows_top), Qt::IntersectClip);
    const double first = std::max(exposed.top(), rows_top), last = std::min(exposed.bottom(), footer);
    for (std::int64_t row = 0; row < at_.rows; ++row) {
        const double top = at_.row_top(row);
        if (top > last) break;
        if (top + LensLayout::row_height >= first) paint_row(painter, row, style, selection);
    }
    if (at_.opened >= 0) paint_list(painter, style);
    painter.restore();
    paint_heading(painter, shift, style);
    paint_footer(painter, footer, style);
}

void LensFigure::paint_row(QPainter& painter, std::int64_t row, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const QFont token_font = ui_font(14), small = ui_font(11);
    const double top = at_.row_top(row), baseline = draw::centred_baseline(top + LensLayout::row_height / 2, cell_font());
    const bool hovered = !style.exporting && selection.hover_query == Position(row);
    const bool pinned = at_.opened == row;
    if (hovered || pinned)
        draw::box(painter, QRectF(LensLayout::margin, top + 1, at_.width - 2 * LensLayout::margin, LensLayout::row_height - 2), 6,
                  pinned ? theme.accent_soft : theme.chip);
    draw::number(painter, {at_.token_x - 10, baseline}, QString::number(row), small, theme.muted, draw::Align::right);
    draw::token(painter, QRectF(at_.token_x, top, at_.token_width, LensLayout::row_height),
                draw::label_of(data_.labels[static_cast<std::size_t>(row)]), token_font, theme, draw::Align::left,
                pinned ? theme.accent : QColor());
    for (std::int64_t column = 0; column <= at_.layers; ++column) {
        const analyze::LensState& s = state(column, row);
        const double t = strength(s);
        const QRectF cell(at_.cell_x(column) + 1, top + 1, at_.cell_width - 2, LensLayout::row_height - 2);
        const QColor color = std::isnan(t) ? theme.panel : ramp_color(style.ramp, theme, t);
        draw::box(painter, cell, 3, color);
        const QString text = draw::elided(cell_text(s), cell_font(), cell.width() - 8);
        draw::text(painter, {cell.center().x(), baseline}, text, cell_font(), text_on(theme, color), draw::Align::center);
    }
    const std::int64_t next = data_.next[static_cast<std::size_t>(row)];
    if (next < 0) return;
    const analyze::LensState& output = state(at_.layers, row);
    const bool right = output.top.front().id == next;
    const QString said = output.watched_rank >= 0 && output.watched.id == next
                             ? probability_text(static_cast<double>(output.watched.probability))
                             : QString();
    const double said_width = said.isEmpty() ? 0 : draw::text_width(said, note_font()) + 10;
    const QString text = draw::elided(word(next), cell_font(), LensLayout::next_width - 24 - said_width);
    draw::text(painter, {at_.next_x, baseline}, text, cell_font(), right ? theme.text : theme.muted);
    draw::text(painter, {at_.next_x + draw::text_width(text, cell_font()) + 10, baseline}, said, note_font(), theme.muted);
}

void LensFigure::paint_list(QPainter& painter, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont small = ui_font(11);
    const double top = at_.row_top(at_.opened) + LensLayout::row_height;
    painter.fillRect(QRectF(LensLayout::margin, top + 2, at_.width - 2 * LensLayout::margin, at_.list_height() - 4), theme.panel);
    const std::int64_t width = at_.candidates;
    for (std::int64_t k = 0; k < width; ++k) {
        const double y = at_.candidate_top(k), baseline = draw::centred_baseline(y + LensLayout::candidate_height / 2, small);
        draw::text(painter, {at_.token_x + at_.token_width, baseline},
                   draw::elided(word(data_.history.ids[static_cast<std::size_t>(k)]), note_font(), at_.token_width + 30),
                   note_font(), theme.text, draw::Align::right);
        for (std::int64_t column = 0; column <= at_.layers; ++column) {
            const auto i = static_cast<std::size_t>(column * width + k);
            const QColor color = ramp_color(style.ramp, theme, static_cast<double>(data_.history.scores[i].probability));
            const QRectF cell(at_.cell_x(column) + 1, y + 1, at_.cell_width - 2, LensLayout::candidate_height - 2);
            draw::box(painter, cell, 2, color);
            if (column == data_.opened_layer) {
                painter.setPen(QPen(theme.accent, 1));
                painter.setBrush(Qt::NoBrush);
                painter.drawRoundedRect(cell, 2, 2);
            }
            draw::text(painter, {cell.center().x(), baseline}, rank_text(data_.history.ranks[i], small, cell.width() - 4), small,
                       text_on(theme, color), draw::Align::center);
        }
    }
    draw::text(painter,
               {at_.next_x, draw::centred_baseline(at_.candidate_top(0) + LensLayout::candidate_height / 2, note_font())},
               QStringLiteral("likeliest in layer %1:").arg(data_.opened_layer), note_font(), theme.muted);
    draw::text(painter,
               {at_.next_x, draw::centred_baseline(at_.candidate_top(1) + LensLayout::candidate_height / 2, note_font())},
               QStringLiteral("probability and rank"), note_font(), theme.muted);
}

void LensFigure::paint_heading(QPainter& painter, double shift, const Style& style) const {
    const Theme& theme = *style.theme;
    const QFont heading = ui_font(16, QFont::DemiBold), note = ui_font(13);
    draw::text(painter, {LensLayout::margin + 8, LensLayout::title_baseline}, title(), heading, theme.text);
    draw::text(painter, {LensLayout::margin + 24 + draw::text_width(title(), heading), LensLayout::title_baseline},
               QStringLiteral("the model's prediction, read at %1 of each layer")
                   .arg(QLatin1StringView(analyze::name_of(data_.lens->at))),
               note, theme.muted);
    painter.save();
    painter.translate(0, shift);
    if (shift > 0) painter.fillRect(QRectF(0, LensLayout::sticky_top, at_.width, LensLayout::heading_height), theme.canvas);
    const double baseline = LensLayout::sticky_top + 20;
    draw::text(painter, {at_.token_x, baseline}, QStringLiteral("token"), note_font(), theme.muted);
    for (std::int64_t column = 0; column <= at_.layers; ++column) {
        const double x = at_.cell_x(column) + at_.cell_width / 2;
        const QString name = column == at_.layers ? QStringLiteral("output")
                             : column == 0        ? QStringLiteral("layer 0")
                                                  : QString::number(column);
        draw::text(painter, {x, baseline}, draw::elided(name, note_font(), at_.cell_width), note_font(), theme.muted,
                   draw::Align::center);
    }
    if (std::ranges::any_of(data_.next, [](std::int64_t id) { return id >= 0; }))  // a picture has no next token
        draw::text(painter, {at_.next_x, baseline},
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
    const double vocab = static_cast<double>(data_.lens->vocab);
    const QRectF bar(at_.token_x, top + 13, 150, 10);
    const double right = draw::ramp_bar(painter, bar, style.ramp, ends_of(data_.color, kl_limit_, vocab, true),
                                        ends_of(data_.color, kl_limit_, vocab, false), theme);
    QString what = name_of(data_.color);
    if (data_.color == LensColor::rank)
        what += data_.lens->watched ? QStringLiteral(" (%1)").arg(word(*data_.lens->watched))
                                    : QStringLiteral(" (the next one in the text)");
    draw::text(painter, {right + 16, top + 22}, what, note_font(), theme.muted);
    draw::text(painter, {at_.token_x, top + 44},
               QStringLiteral("read by the %1; the norm's statistics are those of each state")
                   .arg(QString::fromStdString(data_.read_as)),
               note_font(), theme.muted);
}

}  // namespace headlight::figure
