// SPDX-License-Identifier: GPL-3.0-or-later
// Painting of plots. On screen axes and marks are painted once per layout and kept as pixels; while one brushes, only the
// marks of the subject are painted anew. A job paints what takes longer than a frame.
#include "figure/core/saved_state.h"
#include "figure/core/wrapped.h"
#include "figure/plot/plot_figure.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace headlight::figure::plot {

namespace {

constexpr double faint_marks = 0.25;  ///< opacity of marks beside the subject
constexpr std::size_t most_named = 3;
constexpr std::size_t most_drawn_anew = 1'000;      ///< marks of a head
constexpr std::size_t most_drawn_at_once = 10'000;  ///< marks of a figure, or of a head, in the thread that paints

/// The position that is chosen along an axis; -1: none.
std::int64_t chosen_on(const Axis& axis, const std::optional<Position>& query, const std::optional<Position>& key) {
    if (axis.stands_for == Axis::Stands::query && query) return query->value;
    if (axis.stands_for == Axis::Stands::key && key) return key->value;
    return -1;
}

}  // namespace

void PlotFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    const draw::SavedState saved(painter);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    const Canvas c{painter, style, draw::on_target(painter, exposed) & QRectF(QPointF(0, 0), size_), draw::device_scale(painter),
                   draw::is_vector(painter)};
    const Subject subject = this->subject(style, selection);
    const double opacity = subject.fades ? faint_marks : 1;
    if (c.keeps()) {
        keep(c, subject);
        draw::device_image(painter, {0, 0}, kept_->frame);
        painter.setOpacity(opacity);
        if (!kept_->marks.isNull()) draw::device_image(painter, {0, 0}, kept_->marks);
        painter.setOpacity(1);
    } else {
        paint_frame(c);
        mark_painter().paint(c, opacity);
    }
    paint_positions(c, subject);
    paint_subject(c, subject);
    paint_token_labels(c, subject, true);
}

PlotFigure::Shown PlotFigure::shown(const Canvas& c) {
    return {c.style.theme, c.style.palette, c.style.ramp, c.style.filter, c.scale};
}

/// Axes, marks and the subject's marks are separate images, so that the marks alone can be made faint. While a job paints many
/// marks, those of the layout's earlier style stay.
void PlotFigure::keep(const Canvas& c, const Subject& subject) const {
    const Shown wanted = shown(c);
    if (!(kept_->frame_of == wanted)) {
        kept_->frame = screen_image(size_, c.scale, c.style, [&](const Canvas& to) { paint_frame(to); });
        kept_->frame_of = wanted;
    }
    waiting_.reset();
    if (!(kept_->marks_of == wanted)) {
        if (counts_.all > most_drawn_at_once) {
            waiting_ = {wanted, c.style, {}};
        } else {
            kept_->marks = screen_image(size_, c.scale, c.style, [&](const Canvas& to) { mark_painter().paint(to, 1); });
            kept_->marks_of = wanted;
        }
    }
    // A head's long lines and many points take long to draw too; they are the same while it is the subject.
    if (!subject.fades || (kept_->subject == subject.head && kept_->subject_of == wanted)) return;
    const std::vector<MarkId>& marks = index_.of_head(*subject.head);
    if (marks.size() <= most_drawn_anew) return;
    if (waiting_ || marks.size() > most_drawn_at_once) {
        waiting_ = {wanted, c.style, subject.head};
        return;
    }
    kept_->subject_marks =
        screen_image(size_, c.scale, c.style, [&](const Canvas& to) { mark_painter().paint_subject(to, marks); });
    kept_->subject = subject.head;
    kept_->subject_of = wanted;
}

bool PlotFigure::refining() const {
    if (!waiting_) return false;
    const bool subject = !waiting_->subject || (kept_->subject == waiting_->subject && kept_->subject_of == waiting_->shown);
    return !subject || !(kept_->marks_of == waiting_->shown);
}

Sharpening PlotFigure::sharpening() {
    if (!refining() || !busy_.expired()) return {};
    const auto busy = std::make_shared<char>();
    busy_ = busy;
    const bool all = !(kept_->marks_of == waiting_->shown);
    const std::vector<MarkId> marks = waiting_->subject ? index_.of_head(*waiting_->subject) : std::vector<MarkId>();
    return [data = held_, frame = frame_, room = room_, size = size_, counts = counts_, kept = kept_, waiting = *waiting_, all,
            marks, busy](const CancelToken& cancel) -> std::function<void()> {
        Style style = waiting.style;
        style.cancel = cancel;
        Stamps stamps;
        const MarkPainter painter{*data, frame, room, counts, stamps};
        const auto made = [&](const auto& paint) { return screen_image(size, waiting.shown.scale, style, paint); };
        const QImage of_all = all ? made([&](const Canvas& to) { painter.paint(to, 1); }) : QImage();
        const QImage of_subject = waiting.subject ? made([&](const Canvas& to) { painter.paint_subject(to, marks); }) : QImage();
        return [kept, of_all, of_subject, all, waiting, busy] {
            if (all) {
                kept->marks = of_all;
                kept->marks_of = waiting.shown;
            }
            if (!waiting.subject) return;
            kept->subject_marks = of_subject;
            kept->subject = waiting.subject;
            kept->subject_of = waiting.shown;
        };
    };
}

void PlotFigure::paint_words(const Canvas& c) const {
    const QFont title = ui_font(15, QFont::DemiBold), small = ui_font(12), note = ui_font(11);
    const double width = size_.width() - 2 * margin;
    draw::text(c.painter, {margin, 32}, draw::elided(data_.title, title, width), title, c.theme().text);
    double y = title_height + 10;
    for (const QString& line : subtitle_) {
        draw::text(c.painter, {margin, y}, line, small, c.theme().muted);
        y += line_height;
    }
    if (data_.scale) {
        const double left =
            margin + draw::text_width(data_.scale->name, note) + 10 + draw::number_width(data_.scale->low, note) + 5;
        draw::text(c.painter, {margin, y + 6}, data_.scale->name, note, c.theme().muted);
        draw::bar(
            c.painter, QRectF(left, y - 2, 110, 8),
            [&](double t) {
                return resolved({Color::Role::ramp, t}, c.style);
            },
            data_.scale->low, data_.scale->high, c.theme());
    }
    y = room_.bottom() + 16;
    for (const QString& line : note_) {
        draw::text(c.painter, {margin, y}, line, note, c.theme().muted);
        y += line_height;
    }
    for (std::size_t p = 0; p < data_.panels.size(); ++p) {
        const QRectF area = frame_.panels[p].area;
        const QFont bold = ui_font(12, QFont::DemiBold);
        draw::text(c.painter, {area.left(), area.top() - 12 - frame_.panels[p].legend_height},
                   draw::elided(data_.panels[p].title, bold, area.width()), bold, c.theme().text);
        if (data_.panels[p].empty.isEmpty()) continue;
        const QStringList why = wrapped(data_.panels[p].empty, small, area.width() - 16);
        double line = area.center().y() - line_height * static_cast<double>(why.size() - 1) / 2;
        for (const QString& words : why) {
            draw::text(c.painter, {area.center().x(), line}, words, small, c.theme().muted, draw::Align::center);
            line += line_height;
        }
    }
}

void PlotFigure::paint_frame(const Canvas& c) const {
    paint_words(c);
    paint_axes(c.painter, data_, frame_, c.style);
    paint_token_labels(c, {}, false);
}

void PlotFigure::paint_token_labels(const Canvas& c, const Subject& subject, bool chosen_only) const {
    const QFont font = ui_font(tick_font), bold = ui_font(tick_font, QFont::DemiBold);
    const double line = QFontMetricsF(font).height();
    for (std::size_t p = 0; p < data_.panels.size(); ++p) {
        const Axis& axis = data_.panels[p].x;
        const PanelFrame& frame = frame_.panels[p];
        if (axis.labels.empty() || !data_.panels[p].empty.isEmpty()) continue;
        const std::int64_t chosen = chosen_on(axis, subject.query, subject.key);
        const double top = frame.area.bottom() + 7, cell = std::abs(frame.x.px(1) - frame.x.px(0));
        const auto put = [&](std::size_t i, const QFont& in, const QColor& color) {
            const double x = frame.x.px(static_cast<double>(i));
            if (frame.labels.upwards)
                draw::token_upwards(c.painter, QRectF(x - line / 2, top, line, frame.labels.extent), axis.labels[i], in,
                                    c.theme(), color);
            else
                draw::token(c.painter, QRectF(x - cell / 2, top, cell, line), axis.labels[i], in, c.theme(), draw::Align::center,
                            color);
        };
        if (!chosen_only) {
            if (!frame.shows_labels) continue;
            for (std::size_t i = 0; i < axis.labels.size(); i += static_cast<std::size_t>(frame.labels.stride)) put(i, font, {});
            continue;
        }
        if (chosen < 0 || chosen >= static_cast<std::int64_t>(axis.labels.size())) continue;
        const auto i = static_cast<std::size_t>(chosen);
        // The chosen token is named whatever was thinned out: in its place, or on a chip that takes the labels under it away
        // whole.
        const double x = frame.x.px(static_cast<double>(i));
        if (frame.shows_labels && frame.labels.upwards) {
            const QRectF room(x - line / 2, top - 1, line, frame.labels.extent + 2);
            draw::box(c.painter, room, 3, c.theme().accent_soft);
            put(i, bold, c.theme().accent);
        } else if (frame.shows_labels && frame.labels.stride == 1) {
            draw::box(c.painter, QRectF(x - cell / 2, top - 2, cell, line + 4), 4, c.theme().accent_soft);
            put(i, bold, c.theme().accent);
        } else {
            const QString name = axis.labels[i].with_position(Position(chosen));
            const double width = draw::text_width(name, bold) + 10;
            const double left = std::clamp(x - width / 2, 2.0, std::max(2.0, size_.width() - width - 2));
            const QRectF chip(left, top - 2, width, line + 4);
            const auto stride = static_cast<std::size_t>(frame.labels.stride);
            for (std::size_t j = 0; frame.shows_labels && j < axis.labels.size(); j += stride) {
                const double width_of = draw::text_width(axis.labels[j].text, font) + 4;
                const QRectF label(frame.x.px(static_cast<double>(j)) - width_of / 2, top - 1, width_of, line + 2);
                if (label.intersects(chip)) c.painter.fillRect(label, c.theme().canvas);
            }
            draw::box(c.painter, chip, 4, c.theme().accent_soft);
            draw::text(c.painter, {chip.center().x(), draw::centred_baseline(chip.center().y(), bold)}, name, bold,
                       c.theme().accent, draw::Align::center);
        }
    }
}

// --- the subject ----------------------------------------------------------------------------------------------------

void PlotFigure::paint_positions(const Canvas& c, const Subject& subject) const {
    for (std::size_t p = 0; p < data_.panels.size(); ++p) {
        const std::int64_t at = chosen_on(data_.panels[p].x, subject.query, subject.key);
        if (at < 0) continue;
        const QRectF area = frame_.panels[p].area;
        const double x = frame_.panels[p].x.px(static_cast<double>(at));
        if (!(x >= area.left() - 1 && x <= area.right() + 1)) continue;
        c.painter.setPen(QPen(draw::faded(c.theme().accent, 0.55), 1));
        c.painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    }
}

void PlotFigure::paint_subject(const Canvas& c, const Subject& subject) const {
    if (!subject.head) return;
    const std::vector<MarkId>& marks = index_.of_head(*subject.head);
    if (subject.fades) {
        if (!c.keeps() || marks.size() <= most_drawn_anew)
            mark_painter().paint_subject(c, marks);
        else if (kept_->subject == subject.head && kept_->subject_of == shown(c))
            draw::device_image(c.painter, {0, 0}, kept_->subject_marks);
    }
    // Rings mark the chosen query, or a head with few marks in a panel.
    std::vector<std::size_t> in_panel(data_.panels.size(), 0);
    for (const MarkId id : marks) ++in_panel[static_cast<std::size_t>(id.panel)];
    std::vector<MarkId> ringed;
    for (const MarkId id : marks) {
        const Series& s = series_of(id);
        if (s.kind != Series::Kind::points && s.kind != Series::Kind::line) continue;
        const auto query = s.query_of(static_cast<std::size_t>(id.mark));
        const bool asked = query && subject.query && *query == *subject.query;
        if (asked || in_panel[static_cast<std::size_t>(id.panel)] <= most_named) ringed.push_back(id);
    }
    if (ringed.size() > 4 * most_named * data_.panels.size()) return;
    // From right to left: a number stands to the right of its mark, over the marks that follow.
    const auto place = [this](MarkId id) {
        return place_of(frame_.panels[static_cast<std::size_t>(id.panel)], series_of(id), static_cast<std::size_t>(id.mark));
    };
    std::stable_sort(ringed.begin(), ringed.end(), [&](MarkId a, MarkId b) { return place(a).x() > place(b).x(); });
    std::vector<QRectF> taken;
    for (const MarkId id : ringed) taken.push_back(paint_ring(c, id));
    std::vector<std::pair<QRectF, QString>> named;
    for (std::size_t i = 0; i < ringed.size(); ++i) paint_name(c, ringed[i], taken[i], taken, named);
}

QRectF PlotFigure::paint_ring(const Canvas& c, MarkId id) const {
    const Series& s = series_of(id);
    const auto i = static_cast<std::size_t>(id.mark);
    const QPointF at = place_of(frame_.panels[static_cast<std::size_t>(id.panel)], s, i);
    const double r = mark_painter().radius(s);
    c.painter.setPen(Qt::NoPen);
    c.painter.setBrush(resolved(s.color_of(i), c.style));
    draw_marker(c.painter, s.marker_of(i), at, std::max(r, 3.0));
    c.painter.setPen(QPen(c.theme().accent, 1.5));
    c.painter.setBrush(Qt::NoBrush);
    c.painter.drawEllipse(at, r + 3.5, r + 3.5);
    return {at.x() - r - 3.5, at.y() - r - 3.5, 2 * r + 7, 2 * r + 7};
}

/// On the side with room: never over another ring or number, and once for neighbouring marks of the same height.
void PlotFigure::paint_name(const Canvas& c, MarkId id, const QRectF& ring, const std::vector<QRectF>& rings,
                            std::vector<std::pair<QRectF, QString>>& named) const {
    const Series& s = series_of(id);
    const auto i = static_cast<std::size_t>(id.mark);
    const PanelFrame& frame = frame_.panels[static_cast<std::size_t>(id.panel)];
    const QFont font = ui_font(11, QFont::DemiBold);
    const auto head = s.head_of(i);
    const Axis& axis = data_.panels[static_cast<std::size_t>(id.panel)].y;
    const QString text =
        (head ? head_name(*head) + QStringLiteral("  ") : QString()) + draw::number_text(s.y[i], axis.integer ? 0 : 3);
    const double width = draw::text_width(text, font) + 8;
    const double y = std::clamp(ring.center().y(), frame.area.top() + 8, frame.area.bottom() - 8);
    const QRectF right(ring.right() + 2.5, y - 8, width, 16), left(ring.left() - 2.5 - width, y - 8, width, 16);
    const auto beside_its_like = [&](const std::pair<QRectF, QString>& other) {
        return other.second == text && other.first.intersects(right.united(left));
    };
    if (std::any_of(named.begin(), named.end(), beside_its_like)) return;
    const auto free = [&](const QRectF& chip) {
        const auto covers = [&](const QRectF& other) { return other != ring && other.intersects(chip.adjusted(2, 2, -2, -2)); };
        return std::none_of(rings.begin(), rings.end(), covers) &&
               std::none_of(named.begin(), named.end(), [&](const auto& other) { return covers(other.first); });
    };
    const bool fits_right = right.right() <= frame.area.right() + 8, fits_left = left.left() >= frame.area.left();
    const QRectF chip = fits_right && (free(right) || !fits_left || !free(left)) ? right : left;
    if (!named.empty() && !free(chip)) return;
    named.emplace_back(chip, text);
    draw::box(c.painter, chip, 4, draw::faded(c.theme().canvas, 0.85));
    draw::text(c.painter, {chip.left() + 4, draw::centred_baseline(chip.center().y(), font)}, text, font, c.theme().text);
    c.painter.setBrush(Qt::NoBrush);
}

}  // namespace headlight::figure::plot
