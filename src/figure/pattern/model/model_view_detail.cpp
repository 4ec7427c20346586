// SPDX-License-Identifier: GPL-3.0-or-later
// The pane beside a cell: one head with its tokens.
#include "figure/pattern/model/model_view_frame.h"
#include "figure/pattern/neuron/neuron_view_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

using Sizes = DetailSizes;

/// What the pane is about: a hover on screen, else the last pin; files show the pins.
struct Chosen {
    std::optional<Position> query, key;
    std::int64_t row = -1, column = -1;  ///< of them in the map; -1: none is chosen, or it is hidden
};
Chosen chosen_in(const analyze::PatternAxes& axes, Selection selection, bool hover) {
    if (!hover) selection.hover_query = selection.hover_key = std::nullopt;
    Chosen chosen{.query = selection.query(), .key = selection.key()};
    if (chosen.query) chosen.row = axes.query_row(*chosen.query);
    if (chosen.key) chosen.column = axes.key_column(*chosen.key);
    return chosen;
}

/// The same with one side alone as the subject: a hover speaks before a pin, whichever side it is on.
Chosen subject_in(const analyze::PatternAxes& axes, const Selection& selection, bool hover) {
    Chosen chosen = chosen_in(axes, selection, hover);
    if (hover && selection.hover_key && !selection.hover_query) chosen.row = -1;
    if (chosen.row >= 0) chosen.column = -1;
    return chosen;
}

}  // namespace

QRectF ModelFigure::pane(double zoom) const {
    if (!options_.detail) return {};
    const double unit = 1 / zoom;
    const QRectF canvas = seen_.adjusted(0, 0, 0, -at_.legend_height * unit);
    const QSizeF size = detail_size(shape(), canvas.height() / unit) * unit;
    return detail_rect(at_.cell_rect(*options_.detail), size, canvas, 8 * unit);
}

void ModelFigure::paint_detail(Frame& frame) const {
    const HeadId head = *options_.detail;
    if (head.layer.value >= at_.layers || head.head.value >= at_.heads) return;
    const QRectF place = pane(frame.style.zoom);
    const Theme& theme = frame.theme();
    const QFont bold = ui_font(13, QFont::DemiBold);
    frame.at(place.topLeft(), [&] {
        const QRectF all(QPointF(0, 0), place.size() * frame.style.zoom);
        QPainter& painter = frame.painter;
        if (frame.hover())
            for (int i = 6; i > 0; --i)  // a soft shadow lifts it off the grid
                draw::box(painter, all.adjusted(-i, -i + 2, i, i + 2), 8 + i,
                          draw::faded(QColor(0, 0, 0), theme.dark ? 0.06 : 0.018));
        draw::box(painter, all.adjusted(0.5, 0.5, -0.5, -0.5), 8, theme.canvas, theme.line);
        const auto& labels = store_->data().labels;
        const QString which = labels.empty() ? QString() : labels[static_cast<std::size_t>(head.layer.value)];
        const QString label = which.isEmpty() ? which : QStringLiteral(" · ") + which;
        draw::text(painter, {Sizes::margin + 2, 25},
                   QStringLiteral("Layer %1, Head %2").arg(head.layer.value).arg(head.head.value) + label, bold, theme.text);
        // From here on a px is a unit; what is in sight is the whole pane.
        Frame inner{painter, all, all, frame.style, frame.selection, frame.device * frame.unit, 1, frame.vector, true};
        const QRectF area = detail_area(shape(), all.size());
        shape().lines ? paint_detail_lines(inner, head, area) : paint_detail_map(inner, head, area);
    });
}

void ModelFigure::paint_detail_lines(Frame& frame, HeadId head, const QRectF& area) const {
    const Chosen chosen = subject_in(axes(), frame.selection, frame.hover());
    const auto drawn = strengths(store_->pattern_now(head), frame.style.transfer);
    const QColor color = head_color(frame.theme(), frame.style.palette, head.layer.value);
    const double width = std::clamp(area.height() / double(std::max(shape().rows, shape().columns)) * 0.12, 1.0, 2.0);
    for (std::int64_t i = 0; i < shape().rows; ++i)
        for (std::int64_t j = 0; j < shape().columns; ++j) {
            const bool subject = chosen.row >= 0 ? i == chosen.row : chosen.column < 0 || j == chosen.column;
            const double strength = double(drawn(i, j)) * (subject ? 1 : 0.12);
            if (strength < least_drawn) continue;
            frame.painter.setPen(QPen(draw::faded(color, strength), width, Qt::SolidLine, Qt::FlatCap));
            frame.painter.drawLine(QPointF(area.left(), row_middle(area, i, shape().rows)),
                                   QPointF(area.right(), row_middle(area, j, shape().columns)));
        }
    paint_detail_column(frame, head, area, false);
    paint_detail_column(frame, head, area, true);
}

void ModelFigure::paint_detail_column(Frame& frame, HeadId head, const QRectF& area, bool keys) const {
    const auto& items = keys ? axes().keys : axes().queries;
    const auto count = std::ssize(items);
    const double height = area.height() / double(count);
    const QFont font = ui_font(std::clamp(height * 0.68, 7.5, 12.0)), numbers = ui_font(std::clamp(height * 0.6, 7.0, 10.5));
    const Chosen chosen = subject_in(axes(), frame.selection, frame.hover());
    const bool holds = (keys ? chosen.column : chosen.row) >= 0;    // this column holds the subject
    const bool answers = (keys ? chosen.row : chosen.column) >= 0;  // this column shows its weights
    const auto& pattern = store_->pattern_now(head);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto& item = items[static_cast<std::size_t>(i)];
        const QRectF box(keys ? area.right() + 6 : Sizes::margin, area.top() + double(i) * height, Sizes::column, height);
        const bool subject = holds && covers(item, keys ? *chosen.key : *chosen.query);
        QColor ink;
        if (subject) {
            draw::box(frame.painter, box.adjusted(0, 0.5, 0, -0.5), 4, frame.theme().accent_soft);
            ink = frame.theme().accent;
        }
        QRectF label = box.adjusted(6, 0, -6, 0);
        if (answers) {
            const double weight = keys ? pattern(chosen.row, i) : pattern(i, chosen.column);
            const QColor color = head_color(frame.theme(), frame.style.palette, head.layer.value);
            draw::box(frame.painter, box.adjusted(0, 0.5, 0, -0.5), 4, draw::faded(color, weight));
            ink = text_on(frame.theme(), draw::blended(frame.theme().canvas, color, weight));
            if (weight >= 0.01 && height >= 9) {
                const QPointF at(keys ? box.right() - 5 : box.left() + 5, draw::centred_baseline(box.center().y(), numbers));
                draw::number(frame.painter, at, draw::weight_text(weight), numbers, ink,
                             keys ? draw::Align::right : draw::Align::left);
                keys ? label.setRight(label.right() - 32) : label.setLeft(label.left() + 32);
            }
        }
        draw::token(frame.painter, label, draw::label_in(items, static_cast<std::size_t>(i)), font, frame.theme(),
                    keys ? draw::Align::left : draw::Align::right, ink);
    }
}

void ModelFigure::paint_detail_map(Frame& frame, HeadId head, const QRectF& area) const {
    draw::box(frame.painter, area, 3, frame.theme().panel);
    paint_map(frame, head, area);
    // Where the selected query and key run through the map.
    const Chosen chosen = chosen_in(axes(), frame.selection, frame.hover());
    const std::int64_t row = chosen.row, key = chosen.column;
    frame.painter.setPen(QPen(draw::faded(frame.theme().accent, 0.6), 1));
    if (row >= 0) {
        const double y = row_middle(area, row, shape().rows);
        frame.painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    }
    if (key >= 0) {
        const double x = area.left() + (double(key) + 0.5) * area.width() / double(shape().columns);
        frame.painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    }
    const QFont font = ui_font(11);
    QString where = QStringLiteral("%1 down, %2 across").arg(words().query(), words().key());
    if (row >= 0 && key >= 0) {
        where = query_name(words(), axes(), row) + QStringLiteral(" → ") + key_name(words(), axes(), key);
        if (const auto* pattern = store_->pattern(head)) where += QStringLiteral("   ") + draw::weight_text((*pattern)(row, key));
    }
    draw::text(frame.painter, {area.left() + 2, area.bottom() + 19}, draw::elided(where, font, area.width()), font,
               frame.theme().muted);
}

void ModelFigure::detail_hit(Hit& hit, QPointF px, QSizeF pane) const {
    const QRectF area = detail_area(shape(), pane);
    const HeadId head = *hit.head;
    if (px.y() < Sizes::heading) {
        hit.kind = Hit::Kind::head;
        hit.tip = QStringLiteral("%1  click to close").arg(head_name(head));
        return;
    }
    if (px.y() < area.top() || px.y() >= area.bottom()) return;
    const auto at = [&](std::int64_t count) {
        return std::clamp<std::int64_t>(
            static_cast<std::int64_t>(std::floor((px.y() - area.top()) / area.height() * double(count))), 0, count - 1);
    };
    if (!shape().lines) {
        if (px.x() < area.left() || px.x() >= area.right()) return;
        const auto j = static_cast<std::int64_t>((px.x() - area.left()) / area.width() * double(shape().columns));
        pair_hit(hit, head, at(shape().rows), std::clamp<std::int64_t>(j, 0, shape().columns - 1));
        return;
    }
    const bool keys = px.x() > area.center().x();
    const auto i = at(keys ? shape().columns : shape().rows);
    hit.kind = keys ? Hit::Kind::key : Hit::Kind::query;
    (keys ? hit.key : hit.query) = (keys ? axes().keys : axes().queries)[static_cast<std::size_t>(i)].first;
    hit.tip = QStringLiteral("%1  %2 %3")
                  .arg(head_name(head), keys ? key_name(words(), axes(), i) : query_name(words(), axes(), i),
                       keys ? QStringLiteral("attended to") : QStringLiteral("attends"));
}

}  // namespace headlight::figure
