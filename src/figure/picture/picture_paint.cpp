// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/picture/picture_figure.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {
namespace {

constexpr double kOver = 0.72;          ///< opacity of the colour over the grey picture
constexpr double kMostCover = 0.93;     ///< opacity over what is not attended to
constexpr double kNumberRoom = 40;      ///< px of a patch that has its number in it
constexpr std::int64_t kManyChips = 2;  ///< class tokens whose weights are written one by one
constexpr double kGridRoom = 7;         ///< px of a patch below which its border would hide the picture

/// Edges on device pixels: neighbouring rectangles leave no seam.
QRectF snapped(const QPainter& painter, const QRectF& r) {
    const double scale = draw::device_scale(painter);
    const auto edge = [&](double x) { return std::round(x * scale) / scale; };
    return QRectF(QPointF(edge(r.left()), edge(r.top())), QPointF(edge(r.right()), edge(r.bottom())));
}

/// The mark of what looks.
void outline(Scene& out, const QRectF& rect, const QColor& color, double width) {
    out.picture(rect.adjusted(-width, -width, width, width), [=](QPainter& painter) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(color, width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(rect);
    });
}

}  // namespace

QImage PictureFigure::scaled(const QPainter& painter, const QRectF& rect, bool grey) const {
    const double scale = std::clamp(draw::device_scale(painter), 1.0, 4.0);
    const QSize size = (rect.size() * scale).toSize();
    const auto kept = scaled_.find({size.width(), grey});
    if (kept != scaled_.end()) return kept->second;
    if (scaled_.size() >= 8) scaled_.clear();
    const QImage& from = grey ? grey_ : data_.picture;
    // Enlarged pixels stay squares: a small picture is what the model saw, not a blurred one.
    const bool larger = size.width() > from.width();
    return scaled_[{size.width(), grey}] =
               from.scaled(size, Qt::IgnoreAspectRatio, larger ? Qt::FastTransformation : Qt::SmoothTransformation);
}

QColor PictureFigure::color(const Style& style, double strength) const { return ramp_color(style.ramp, *style.theme, strength); }

QColor PictureFigure::over_grey(const Style& style, double strength) const {
    const QColor grey(128, 128, 128);
    return data_.reveal ? draw::blended(grey, style.theme->canvas, kMostCover * (1 - strength))
                        : draw::blended(grey, color(style, strength), kOver);
}

void PictureFigure::draw_grid(Scene& out, const QRectF& picture, const Style& style) const {
    const double side = picture.width() / static_cast<double>(data_.columns);
    if (side >= kGridRoom) {
        const QPen pen = draw::hairline(draw::faded(style.theme->canvas, side >= 2 * kGridRoom ? 0.55 : 0.3), style);
        for (std::int64_t c = 1; c < data_.columns; ++c) {
            const double x = picture.left() + static_cast<double>(c) * side;
            out.line({x, picture.top()}, {x, picture.bottom()}, pen);
        }
        for (std::int64_t r = 1; r < data_.rows; ++r) {
            const double y = picture.top() + picture.height() * static_cast<double>(r) / static_cast<double>(data_.rows);
            out.line({picture.left(), y}, {picture.right(), y}, pen);
        }
    }
    out.box(picture, 0, {}, style.theme->line);
}

/// The patch that looks: two lines, one dark and one light, are seen on any picture.
void PictureFigure::draw_query(Scene& out, const QRectF& picture, const QRectF& caption, const Style& style,
                               const Shown& all) const {
    const Theme& theme = *style.theme;
    const bool is_chip = all.query.value < data_.class_tokens;
    const QRectF at = is_chip ? chip(caption, all.query.value).adjusted(-1.5, -1.5, 1.5, 1.5) : patch(picture, all.query.value);
    if (!is_chip) outline(out, at, theme.canvas, 4);
    outline(out, at, theme.negative, 2);
}

void PictureFigure::draw_whole(Scene& out, const Style& style, const Shown& all) const {
    const Theme& theme = *style.theme;
    const QRectF picture = layout_.picture(0), caption = layout_.caption_of(0);
    const QFont font = ui_font(12);
    const double chips = static_cast<double>(data_.class_tokens) * 18 + 8;
    out.text({caption.left(), draw::centred_baseline(caption.center().y() - 1, font)},
             draw::elided(QStringLiteral("%1 × %2 patches").arg(data_.rows).arg(data_.columns), font, caption.width() - chips),
             font, theme.muted);
    for (std::int64_t i = 0; i < data_.class_tokens; ++i) out.box(chip(caption, i), 2, theme.chip, theme.line);
    out.picture(picture, [this, picture](QPainter& painter) { painter.drawImage(picture, scaled(painter, picture, false)); });
    draw_grid(out, picture, style);
    draw_query(out, picture, caption, style, all);
}

void PictureFigure::draw_panel(Scene& out, std::size_t index, const Style& style, const Shown& all) const {
    const Theme& theme = *style.theme;
    const auto panel = static_cast<std::int64_t>(index) + 1;
    const QRectF picture = layout_.picture(panel), caption = layout_.caption_of(panel);
    const Row& row = all.rows[index];
    const auto of = out.of(data_.heads[index]);
    const QFont name_font = ui_font(12, QFont::DemiBold), note_font = ui_font(11);
    const double baseline = draw::centred_baseline(caption.center().y() - 1, name_font);
    const QRectF first_chip = chip(caption, 0);
    // What goes to the class tokens is no patch: a number and a chip of its colour; of many, the sum.
    QString share;
    double sum = 0;
    for (std::int64_t i = 0; i < data_.class_tokens; ++i) {
        const float weight = row.weights[i];
        if (!std::isnan(weight)) {
            share += (share.isEmpty() ? QString() : QStringLiteral(" + ")) + draw::weight_text(weight);
            sum += static_cast<double>(weight);
        }
        out.box(chip(caption, i), 2, std::isnan(weight) ? theme.chip : color(style, row.strengths[i]), theme.line);
    }
    if (data_.class_tokens > kManyChips && !share.isEmpty()) share = draw::weight_text(sum);
    const double share_width = share.isEmpty() ? 0 : draw::number_width(share, note_font) + 6;
    const bool room = caption.width() > 150;
    if (!share.isEmpty() && room) out.number({first_chip.left() - 6, baseline}, share, note_font, theme.muted);
    out.text({caption.left(), baseline},
             draw::elided(QString::fromStdString(data_.names[index]), name_font,
                          first_chip.left() - caption.left() - 8 - (room ? share_width : 0)),
             name_font, theme.text);

    out.picture(picture, [this, picture, row, style](QPainter& painter) { paint_patches(painter, picture, row, style); });
    draw_grid(out, picture, style);
    draw_query(out, picture, caption, style, all);
}

void PictureFigure::paint_patches(QPainter& painter, const QRectF& picture, const Row& row, const Style& style) const {
    const Theme& theme = *style.theme;
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(picture, scaled(painter, picture, !data_.reveal));
    painter.setPen(Qt::NoPen);
    const double side = picture.width() / static_cast<double>(data_.columns);
    const QFont number_font = ui_font(side >= 56 ? 12 : 10);
    for (std::int64_t token = data_.class_tokens; token < tokens(); ++token) {
        const double strength = row.strengths[token];
        const bool hidden = std::isnan(row.weights[token]);
        const QColor over = data_.reveal ? draw::faded(theme.canvas, kMostCover * (1 - strength))
                                         : draw::faded(color(style, hidden ? 0 : strength), kOver);
        painter.fillRect(snapped(painter, patch(picture, token)), over);
        if (side < kNumberRoom || hidden) continue;
        const QRectF at = patch(picture, token);
        draw::number(painter, {at.center().x(), draw::centred_baseline(at.center().y(), number_font)},
                     draw::weight_text(row.weights[token]), number_font, text_on(theme, over_grey(style, strength)),
                     draw::Align::center);
    }
}

QString PictureFigure::notes(const Style& style, const Shown& all) const {
    QStringList notes{data_.weight_name};
    if (const QString transfer = style.transfer.legend(); style.transfer.curve != Transfer::Curve::linear && !transfer.isEmpty())
        notes << transfer;
    if (data_.axes.query_row(all.query) < 0) notes << QStringLiteral("%1 is hidden: choose a patch").arg(token_name(all.query));
    QStringList classes;
    for (std::int64_t i = 0; i < data_.class_tokens; ++i) classes << token_name(Position(i));
    if (data_.class_tokens > kManyChips)
        notes << QStringLiteral("squares above: weight on %1, and their sum").arg(classes.join(QStringLiteral(", ")));
    else if (!classes.isEmpty())
        notes << (classes.size() == 1 ? QStringLiteral("square above: weight on ")
                                      : QStringLiteral("squares above: weight on ")) +
                     classes.join(QStringLiteral(" and "));
    return notes.join(QStringLiteral(" · "));
}

void PictureFigure::draw_legend(Scene& out, const Style& style, const Shown& all) const {
    const Theme& theme = *style.theme;
    const double top = layout_.size.height() - PictureLayout::legend + 8;
    const bool linear = style.transfer.curve == Transfer::Curve::linear;
    draw::ScaleEnds ends = draw::scale_ends(style.transfer);
    if (linear) ends.high = draw::weight_text(all.full);
    const QFont font = ui_font(12);
    const QString amount = draw::amount_name(style.transfer);
    out.text({PictureLayout::margin, draw::centred_baseline(top + 6, font)}, amount, font, theme.muted);
    const double left = PictureLayout::margin + draw::text_width(amount, font) + 12 + draw::number_width(ends.low, ui_font(11));
    // As it looks over a middle grey: what is drawn is never the bare colour.
    const double right = out.bar(
        QRectF(left, top, 140, 12), [this, style](double t) { return over_grey(style, t); }, ends, theme);
    const QRectF mark(right + 22, top, 12, 12);
    outline(out, mark, theme.negative, 2);
    out.text({mark.right() + 7, draw::centred_baseline(top + 6, font)}, QStringLiteral("looks: %1").arg(token_name(all.query)),
             font, theme.text);
    const QString line = notes(style, all);
    out.text({PictureLayout::margin, draw::centred_baseline(top + 30, font)},
             draw::elided(line, font, layout_.size.width() - 2 * PictureLayout::margin), font, theme.muted);
}

void PictureFigure::draw_on(Scene& out, const QRectF& seen, const Style& style, const Selection& selection) const {
    const Theme& theme = *style.theme;
    const Shown pinned = shown(style, selection.pinned_queries.empty() ? data_.query : selection.pinned_queries.back());
    const Shown all = shown(style, query_of(style, selection));
    const QFont heading = ui_font(14, QFont::DemiBold), font = ui_font(12);
    const double baseline = draw::centred_baseline(22, heading);
    out.text({PictureLayout::margin, baseline}, data_.title, heading, theme.text);
    const double after = PictureLayout::margin + draw::text_width(data_.title, heading) + 12;
    out.text({after, baseline},
             draw::elided(data_.file, font, std::max(0.0, layout_.size.width() - after - PictureLayout::margin)), font,
             theme.muted);
    const auto in_sight = [&](std::int64_t panel) {
        return layout_.picture(panel).united(layout_.caption_of(panel)).adjusted(-4, -4, 4, 4).intersects(seen);
    };
    if (in_sight(0)) draw_whole(out, style, all);
    for (std::size_t m = 0; m < data_.weights.size(); ++m)
        if (in_sight(static_cast<std::int64_t>(m) + 1)) draw_panel(out, m, style, all);
    for (std::int64_t map = -1; map < std::ssize(data_.weights); ++map)
        if (in_sight(map + 1)) draw_meanings(out, map, pinned);
    draw_legend(out, style, all);
}

}  // namespace headlight::figure
