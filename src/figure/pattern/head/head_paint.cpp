// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of the head view.
#include "figure/core/saved_state.h"
#include "figure/pattern/head/head_figure.h"
#include "headlight/figure/core/selection_rules.h"

#include <algorithm>
#include <cmath>

namespace headlight::figure {

namespace {

constexpr double background_strength = 0.28;  ///< of the lines beside the subject's
constexpr double least_number = 0.01;         ///< weights below get no number of their own

}  // namespace

struct HeadFigure::Frame {
    QPainter& painter;
    const Style& style;
    const Selection& selection;
    const Drawn& drawn;
    HeadSubject subject;
    QRectF view;     ///< visible part of the content
    QRectF visible;  ///< of it, what lies on the target (bands of an export)
    QRectF rows;     ///< of the view, between header and legend
    const Theme& theme() const { return *style.theme; }
    bool sole_head() const { return drawn.active.size() == 1; }
};

void HeadFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const Drawn& d = drawn(style, selection);
    report(d);
    view_ = exposed;
    const QRectF rows = rows_in_sight();
    const Frame f{painter, style, selection, d, subject(style, selection), exposed, draw::on_target(painter, exposed), rows};
    const draw::SavedState saved(painter);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    paint_header(f);
    paint_legend(f);
    if (exposed.height() < layout_.size.height() - 0.5) painter.setClipRect(rows, Qt::IntersectClip);
    paint_lines(f);
    paint_tokens(f);
    paint_pair_rules(f);
    paint_edge_notes(f);
}

std::vector<HeadFigure::EdgeNote> HeadFigure::edge_notes(const Style& style, const Selection& selection) const {
    constexpr double note_height = 22, pad = 8;
    const QRectF rows = rows_in_sight();
    if (style.exporting || rows.height() < 4 * note_height) return {};
    const HeadSubject s = subject(style, selection);
    const auto chosen_query = selection.query(), chosen_key = selection.key();
    const std::int64_t query = !s.queries.empty() ? s.queries.back() : chosen_query ? data_.axes.query_row(*chosen_query) : -1;
    std::int64_t key = s.key >= 0 ? s.key : chosen_key ? data_.axes.key_column(*chosen_key) : -1;
    const Drawn& d = drawn(style, selection);
    const bool sole = d.active.size() == 1;
    const auto* weights = sole ? &data_.weights[static_cast<std::size_t>(d.active.front())] : nullptr;
    if (key < 0 && query >= 0 && weights && weights->cols() > 0) weights->row(query).maxCoeff(&key);
    std::vector<EdgeNote> notes;
    const auto add = [&](std::int64_t row, bool is_key, const draw::Label& label, Position first) {
        const double y = layout_.row_y(row);
        const bool above = y < rows.top() + layout_.row_height / 2;
        if (!above && y <= rows.bottom() - layout_.row_height / 2) return;
        QString text = (above ? QStringLiteral("↑ ") : QStringLiteral("↓ ")) + label.with_position(first);
        if (is_key && query >= 0 && weights) text += u' ' + draw::weight_text((*weights)(query, key));
        const double width = draw::text_width(text, ui_font(12, QFont::DemiBold)) + 2 * pad;
        const double left = is_key ? layout_.right_x : layout_.line_x0 - 6 - width;
        notes.push_back({QRectF(std::max(left, view_.left() + 4), above ? rows.top() + 2 : rows.bottom() - note_height - 2, width,
                                note_height),
                         text});
    };
    if (query >= 0)
        add(query, false, query_labels_[static_cast<std::size_t>(query)],
            data_.axes.queries[static_cast<std::size_t>(query)].first);
    if (key >= 0)
        add(key, true, key_labels_[static_cast<std::size_t>(key)], data_.axes.keys[static_cast<std::size_t>(key)].first);
    return notes;
}

void HeadFigure::paint_edge_notes(const Frame& f) const {
    const QFont font = ui_font(12, QFont::DemiBold);
    for (const EdgeNote& note : edge_notes(f.style, f.selection)) {
        draw::box(f.painter, note.box, 5, f.theme().accent_soft, f.theme().accent);
        draw::text(f.painter, {note.box.left() + 8, draw::centred_baseline(note.box.center().y(), font)}, note.text, font,
                   f.theme().accent);
    }
}

void HeadFigure::paint_header(const Frame& f) const {
    QPainter& p = f.painter;
    const double top = f.view.top();
    draw::text(p, {HeadLayout::margin, top + layout_.title_baseline()}, title(), ui_font(15, QFont::DemiBold), f.theme().text);
    const QFont normal = ui_font(11), bold = ui_font(11, QFont::DemiBold);
    std::vector<Head> on_heads;  // whose lines are shown: those of a long text come a moment after they are chosen
    if (is_together())
        on_heads = active_heads(f.selection, data_.layer, data_.heads);
    else
        for (const std::int32_t map : f.drawn.active) on_heads.push_back(data_.heads[static_cast<std::size_t>(map)]);
    for (std::int64_t h = 0; h < data_.n_heads; ++h) {
        const QRectF square = layout_.square(h).translated(0, top);
        const QColor hue = head_color(f.theme(), f.style.palette, h);
        const bool on = std::ranges::find(on_heads, Head(h)) != on_heads.end();
        const bool hovered = !f.style.exporting && f.selection.hover_head == HeadId{data_.layer, Head(h)};
        const bool dimmed = f.style.dims({data_.layer, Head(h)});
        // Faint colours and not a faint painter, whose light number on a dark colour nobody could read.
        const auto shown = [&](const QColor& c) { return dimmed ? draw::blended(f.theme().canvas, c, dimmed_strength) : c; };
        const QColor off_stroke = draw::blended(f.theme().canvas, hue, hovered ? 1 : 0.55);
        const QColor off_fill = hovered ? draw::blended(f.theme().canvas, hue, 0.12) : f.theme().canvas;
        draw::box(p, square, 3, shown(on ? hue : off_fill), shown(on ? hue : off_stroke));
        draw::number(p, {square.center().x(), draw::centred_baseline(square.center().y(), normal)}, QString::number(h),
                     on && !dimmed ? bold : normal, on && !dimmed ? text_on(f.theme(), hue) : f.theme().muted,
                     draw::Align::center);
    }
    const QFont caption = ui_font(12);
    const double y = top + layout_.caption_baseline();
    draw::text(p, {layout_.line_x0 - 12, y}, data_.words.query_caption(), caption, f.theme().muted, draw::Align::right);
    draw::text(p, {layout_.right_x + 8, y}, data_.words.key_caption(), caption, f.theme().muted);
}

void HeadFigure::paint_legend(const Frame& f) const {
    QPainter& p = f.painter;
    const double y = f.view.bottom() - 30;
    const QFont font = ui_font(12);
    const bool sole = f.sole_head();
    const QString amount = draw::amount_name(f.drawn.transfer);
    QString what = data_.difference ? data_.signed_name
                   : sole           ? QStringLiteral("one line a pair, opacity = %1").arg(amount)
                          : QStringLiteral("one line a pair and head, opacity = %1 / %2").arg(amount).arg(f.drawn.active.size());
    constexpr double bar_width = 120, room_of_ends = 62;  // before and after the bar
    if (HeadLayout::margin + draw::text_width(what, font) + bar_width + room_of_ends > layout_.size.width() - HeadLayout::margin)
        what = what.sliced(what.indexOf(u',') + 1).trimmed();  // what the opacity is; the lines speak for themselves
    draw::text(p, {HeadLayout::margin, y}, what, font, f.theme().muted);
    const double bar_x =
        HeadLayout::margin + draw::text_width(what, font) +
        (data_.difference ? draw::text_width(QStringLiteral("−") + draw::number_text(data_.limit, 2), font) + 16 : 38);
    const QRectF bar(bar_x, y - 9, bar_width, 10);
    const auto end_of_bar = [&] {
        if (data_.difference) {
            const QString limit = draw::number_text(data_.limit, 2);
            return draw::bar(
                p, bar, [&](double t) { return signed_color(f.theme(), 2 * t - 1); }, QStringLiteral("−") + limit, limit,
                f.theme());
        }
        // Of one head the ends are weights; of several the bar says how opaque a line is.
        const auto [low, high] = sole ? draw::scale_ends(f.drawn.transfer) : draw::ScaleEnds{};
        return draw::opacity_bar(p, bar, sole ? color(f.style, f.drawn.active.front()) : f.theme().text, low, high, f.theme());
    };
    const double end = end_of_bar();
    const bool plain = f.drawn.transfer == Transfer{};
    QString note = data_.weight_name;
    if (f.drawn.lines->too_faint > 0)
        note = QStringLiteral("%1 pairs under 1/255 left out of %2 · %3")
                   .arg(draw::count_text(f.drawn.lines->too_faint), draw::count_text(f.drawn.lines->pairs), note);
    if (!plain) note += QStringLiteral(" · ") + f.drawn.transfer.legend();
    if (f.rows.height() < layout_.rows_bottom() - layout_.header_height - 1) note += QStringLiteral(" · long lines are fainter");
    const double note_x = end + 16;
    const double note_room = layout_.size.width() - HeadLayout::margin - note_x;
    if (draw::text_width(note, font) <= note_room)
        draw::text(p, {note_x, y}, note, font, f.theme().muted);
    else
        draw::text(p, {HeadLayout::margin, y + 18}, draw::elided(note, font, layout_.size.width() - 2 * HeadLayout::margin), font,
                   f.theme().muted);
}

// --- lines ----------------------------------------------------------------------------------------------------------

void HeadFigure::paint_line_set(const Frame& f, const std::vector<std::uint32_t>& lines, double strength) const {
    QPen pen(Qt::black, LineScene::width, Qt::SolidLine, Qt::FlatCap);
    for (const std::uint32_t i : lines) {
        const HeadLine& line = f.drawn.lines->lines[i];
        const double opacity = line.opacity * strength;
        if (opacity < least_opacity) continue;
        f.style.cancel.throw_if_cancelled();
        pen.setColor(draw::faded(color(f.style, line.head), opacity));
        f.painter.setPen(pen);
        f.painter.drawLine(QPointF(layout_.line_x0, layout_.row_y(line.query)),
                           QPointF(layout_.line_x1, layout_.row_y(line.key)));
    }
}

void HeadFigure::paint_vector_lines(const Frame& f) const {
    std::vector<std::uint32_t> subject, others;
    for (const std::uint32_t i : f.drawn.lines->faint_first)  // strong lines lie on top
        (f.subject.has(f.drawn.lines->lines[i]) ? subject : others).push_back(i);
    paint_line_set(f, others, f.subject.none() ? 1 : background_strength);
    paint_line_set(f, subject, 1);
}

void HeadFigure::paint_lines(const Frame& f) const {
    if (draw::is_vector(f.painter)) return paint_vector_lines(f);
    const QRectF shown = f.rows & f.visible;
    if (shown.isEmpty()) return;
    LineScene scene{.lines = f.drawn.lines,
                    .only = nullptr,
                    .hues = {},
                    .x0 = layout_.line_x0,
                    .x1 = layout_.line_x1,
                    .first_y = layout_.row_y(0),
                    .row_height = layout_.row_height,
                    .room = f.rows.height(),
                    .scale = draw::device_scale(f.painter)};
    for (std::size_t h = 0; h < data_.weights.size(); ++h) scene.hues.push_back(color(f.style, static_cast<std::int32_t>(h)));
    const auto paint = [&](LinePictures& pictures, double share) {
        const double pixels = f.style.exporting ? LinePictures::no_limit : LinePictures::frame_pixels * share;
        pictures.paint(f.painter, scene, shown.top(), shown.bottom(), pixels, f.style.cancel);
    };
    f.painter.setOpacity(f.subject.none() ? 1 : background_strength);
    paint(pictures_, 1);
    f.painter.setOpacity(1);
    if (f.subject.none()) return chosen_pictures_.clear();
    if (!(chosen_.subject == f.subject) || chosen_.of != f.drawn.lines)
        chosen_ = {
            f.subject, f.drawn.lines,
            std::make_shared<const std::vector<std::uint32_t>>(lines_of(*f.drawn.lines, f.subject.queries, f.subject.key))};
    scene.only = chosen_.lines;
    scene.room = 0;
    paint(chosen_pictures_, 0.25);
}

// --- tokens ---------------------------------------------------------------------------------------------------------

HeadFigure::Rows HeadFigure::rows_of(const Frame& f) const {
    const QRectF shown = f.rows & f.visible;
    const auto row = [&](double y) { return (y - layout_.header_height) / layout_.row_height; };
    return {std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(row(shown.top())))),
            static_cast<std::int64_t>(std::ceil(row(shown.bottom())))};
}

void HeadFigure::paint_boxes(const Frame& f, bool on_keys, Rows rows, const std::vector<Eigen::VectorXf>& strengths) const {
    // BertViz: one box a head on each opposite token, its width divided by the active heads, its opacity the weight. Those of
    // several heads stand under the token's text, which no one colour would suit.
    const auto count = static_cast<double>(f.drawn.active.size());
    f.painter.setRenderHint(QPainter::Antialiasing, count == 1);  // neighbouring boxes meet on a pixel's edge
    for (std::size_t a = 0; a < f.drawn.active.size(); ++a) {
        const std::int32_t head = f.drawn.active[a];
        const Eigen::VectorXf& strength = strengths[a];
        const QColor hue = color(f.style, head);
        for (Eigen::Index j = rows.first; j < std::min<Eigen::Index>(rows.last, strength.size()); ++j) {
            const QRectF whole = on_keys ? layout_.key_box(j) : layout_.query_box(j);
            if (strength[j] < least_opacity || !whole.intersects(f.visible)) continue;
            QRectF part = count == 1 ? whole : layout_.strip(whole);
            part.setWidth(whole.width() / count);
            part.translate(part.width() * static_cast<double>(a), 0);
            if (count == 1)
                draw::box(f.painter, part, 5, draw::faded(hue, strength[j]));
            else
                f.painter.fillRect(part, draw::faded(hue, strength[j]));
        }
    }
    f.painter.setRenderHint(QPainter::Antialiasing);
}

void HeadFigure::paint_tokens(const Frame& f) const {
    const HeadSubject& subject = f.subject;
    const std::int64_t box_query = subject.queries.empty() ? -1 : subject.queries.back();
    const Rows rows = rows_of(f);
    const std::int64_t last_query = std::min(rows.last, layout_.queries);
    std::vector<Eigen::VectorXf> strong;
    if (box_query >= 0)
        strong = strengths(true, box_query, {});
    else if (subject.key >= 0)
        strong = strengths(false, subject.key, {rows.first, last_query});
    if (!strong.empty()) paint_boxes(f, box_query >= 0, rows, strong);

    const QFont font = ui_font(layout_.token_size), bold = ui_font(layout_.token_size, QFont::DemiBold);
    const QFont number_font = ui_font(layout_.number_size);
    // Opposite tokens: what a box there is mixed from, for the text's contrast and the number beside it.
    auto paint_one = [&](bool is_query, std::int64_t row, const QRectF& box, const draw::Label& label) {
        const bool chosen = is_query ? subject.has_query(row) : subject.key == row;
        QColor text_color;
        double weight = -1;
        if (chosen) {
            const bool hovered = !f.style.exporting && (is_query ? f.selection.hover_query : f.selection.hover_key).has_value();
            draw::box(f.painter, box, 5, f.theme().accent_soft, hovered ? QColor() : f.theme().accent);
        } else if (is_query ? subject.key >= 0 : box_query >= 0) {
            const auto q = is_query ? row : box_query, k = is_query ? subject.key : row;
            const std::int32_t head = f.drawn.active.front();
            weight = data_.weights[static_cast<std::size_t>(head)](q, k);
            const double box_strength = strong.front()[is_query ? q : k];
            const auto& pinned = f.selection.pinned_keys;
            const bool pinned_pair =
                !is_query && std::ranges::any_of(pinned, [&](Position p) { return data_.axes.key_column(p) == row; });
            if (pinned_pair) draw::box(f.painter, box, 5, {}, f.theme().accent);
            if (f.sole_head() && box_strength > 0.35)
                text_color = text_on(f.theme(), draw::blended(f.theme().canvas, color(f.style, head), box_strength));
        }
        const QRectF inside = box.adjusted(8, 0, is_query ? -6 : -4, 0);
        const QFont& used = chosen ? bold : font;
        const bool weighed = f.sole_head() && weight >= least_number;
        draw::Label shown = label;
        if (weighed && is_query) shown.digits = 0;  // the weight stands in its place
        draw::token(f.painter, inside, shown, used, f.theme(), is_query ? draw::Align::right : draw::Align::left, text_color);
        if (!weighed) return;
        const double y = draw::centred_baseline(box.center().y(), number_font);
        if (!is_query) {
            draw::number(f.painter, {layout_.number_right, y}, draw::weight_text(weight), number_font, f.theme().muted);
        } else if (draw::token_width(shown, used) + 44 < inside.width()) {
            const QColor quiet = text_color.isValid() ? text_color : f.theme().muted;
            draw::number(f.painter, {box.left() + 8, y}, draw::weight_text(weight), number_font, quiet, draw::Align::left);
        }
    };
    for (std::int64_t i = rows.first; i < last_query; ++i)
        paint_one(true, i, layout_.query_box(i), query_labels_[static_cast<std::size_t>(i)]);
    for (std::int64_t j = rows.first; j < std::min(rows.last, layout_.keys); ++j)
        paint_one(false, j, layout_.key_box(j), key_labels_[static_cast<std::size_t>(j)]);
}

void HeadFigure::paint_pair_rules(const Frame& f) const {
    auto rule = [&](const std::vector<analyze::AxisItem>& items, double x0, double x1) {
        for (std::size_t i = 1; i < items.size(); ++i) {
            if (items[i].sentence == items[i - 1].sentence) continue;
            const double y = layout_.row_y(static_cast<std::int64_t>(i)) - layout_.row_height / 2;
            f.painter.setPen(draw::hairline(f.theme().faint, f.style));
            f.painter.drawLine(QPointF(x0, y), QPointF(x1, y));
        }
    };
    rule(data_.axes.queries, layout_.left_x, layout_.left_x + layout_.column_width);
    rule(data_.axes.keys, layout_.right_x, layout_.right_x + layout_.key_width);
}

}  // namespace headlight::figure
