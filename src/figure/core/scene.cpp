// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/core/scene.h"

#include "figure/core/saved_state.h"

#include <QPainterPathStroker>

#include <algorithm>

namespace headlight::figure {
namespace {

constexpr std::ptrdiff_t marks_at_once = 256;       ///< between checks of whether an export is cancelled
constexpr std::int64_t most_cells_listed = 20'000;  ///< of a grid
constexpr double any_width = 1e6;                   ///< of a text: measuring it would take longer than to paint it in vain

/// Where a text can have ink.
QRectF rough_line(QPointF baseline, const QFont& font) {
    const double size = font.pixelSize();
    return {baseline.x() - any_width, baseline.y() - 1.5 * size, 2 * any_width, 2 * size};
}

QRectF around_pen(const QRectF& box, const QPen& pen) {
    const double out = pen.style() == Qt::NoPen ? 1 : pen.widthF() + 1;
    return box.adjusted(-out, -out, out, out);
}

/// Also of lines, which have no area.
bool meet(const QRectF& a, const QRectF& b) {
    return a.left() <= b.right() && a.right() >= b.left() && a.top() <= b.bottom() && a.bottom() >= b.top();
}

template <class... Each>
struct Visit : Each... {
    using Each::operator()...;
};

/// Colours of a mark, as strong as the filter leaves its head.
struct Tone {
    bool faint = false;
    QColor operator()(const QColor& color) const {
        return faint && color.isValid() ? draw::faded(color, static_cast<double>(color.alphaF()) * dimmed_strength) : color;
    }
    QPen operator()(QPen pen) const {
        if (faint) pen.setColor((*this)(pen.color()));
        return pen;
    }
    QBrush operator()(QBrush brush) const {
        if (faint) brush.setColor((*this)(brush.color()));
        return brush;
    }
};

bool same_look(const Style& a, const Style& b) {
    return a.theme == b.theme && a.palette == b.palette && a.ramp == b.ramp && a.transfer == b.transfer && a.zoom == b.zoom &&
           a.exporting == b.exporting && a.filter == b.filter;
}

}  // namespace

template <class Shape>
void Scene::add(Shape shape, const QRectF& bounds) {
    marks_.push_back({std::move(shape), bounds, head_, clip_});
}

void Scene::text(QPointF baseline, const QString& text, const QFont& font, const QColor& color, Align align) {
    if (!text.isEmpty()) add(TextMark{baseline, text, font, color, align, false}, rough_line(baseline, font));
}

void Scene::number(QPointF baseline, const QString& text, const QFont& font, const QColor& color, Align align) {
    if (!text.isEmpty()) add(TextMark{baseline, text, font, color, align, true}, rough_line(baseline, font));
}

void Scene::token(const QRectF& box, draw::Label label, const QFont& font, Align align, const QColor& color) {
    add(TokenMark{box, std::move(label), font, color, align, false}, rough_line({box.left(), box.center().y() + 6}, font));
}

void Scene::token_upwards(const QRectF& box, draw::Label label, const QFont& font, const QColor& color) {
    add(TokenMark{box, std::move(label), font, color, Align::left, true}, box.adjusted(-20, -20, 20, 20));
}

void Scene::box(const QRectF& box, double radius, const QColor& fill, const QColor& stroke, double stroke_width) {
    add(BoxMark{box, radius, fill, stroke, stroke_width}, around_pen(box, QPen(stroke, stroke_width)));
}

void Scene::fill(const QRectF& box, const QColor& color) { add(FillMark{box, color}, box); }

void Scene::line(QPointF from, QPointF to, const QPen& pen) {
    add(LineMark{from, to, pen}, around_pen(QRectF(from, to).normalized(), pen));
}

void Scene::circle(QPointF centre, double radius, const QPen& pen, const QBrush& brush) {
    const QPointF out(radius, radius);
    add(CircleMark{centre, radius, pen, brush}, around_pen(QRectF(centre - out, centre + out), pen));
}

void Scene::path(QPainterPath path, const QPen& pen, const QBrush& brush) {
    const QRectF bounds = around_pen(path.controlPointRect(), pen);
    add(PathMark{std::move(path), pen, brush}, bounds);
}

void Scene::hatch(const QRectF& box, double step, const QColor& color) { add(HatchMark{box, step, color}, box); }

void Scene::picture(const QRectF& area, std::function<void(QPainter&)> paint) { add(PictureMark{std::move(paint)}, area); }

double Scene::bar(const QRectF& bar, std::function<QColor(double)> color, const draw::ScaleEnds& ends, const Theme& theme) {
    const double right = bar.right() + 5 + draw::number_width(ends.high, small_font());
    picture(bar.adjusted(-any_width, -4, any_width, 4), [bar, color = std::move(color), ends, &theme](QPainter& painter) {
        draw::bar(painter, bar, color, ends.low, ends.high, theme);
    });
    return right;
}

double Scene::ramp_bar(const QRectF& area, const Style& style, const draw::ScaleEnds& ends) {
    return bar(
        area, [ramp = style.ramp, theme = style.theme](double t) { return ramp_color(ramp, *theme, t); }, ends, *style.theme);
}

void Scene::signed_bar(const QRectF& bar, double limit, const Theme& theme) {
    picture(bar.adjusted(-40, -4, 40, 24),
            [bar, limit, &theme](QPainter& painter) { draw::signed_bar(painter, bar, limit, theme); });
}

Scene::Scope Scene::clip(const QRectF& area) {
    const int before = clip_;
    clips_.push_back(before < 0 ? area : area & clips_[static_cast<std::size_t>(before)]);
    clip_ = static_cast<int>(std::ssize(clips_)) - 1;
    return Scope([this, before] { clip_ = before; });
}

Scene::Scope Scene::of(std::optional<HeadId> head) {
    head_ = head;
    return Scope([this] { head_.reset(); });
}

void Scene::means(const QRectF& area, Hit hit, Tip tip) {
    if (with_meanings_) meanings_.push_back({area, {}, 0, clip_, std::move(hit), std::move(tip), 0, 0, {}});
}

void Scene::means(const QPainterPath& path, double reach, Hit hit, Tip tip) {
    const double out = reach / 2;
    if (with_meanings_)
        meanings_.push_back(
            {path.boundingRect().adjusted(-out, -out, out, out), path, reach, clip_, std::move(hit), std::move(tip), 0, 0, {}});
}

void Scene::means(const QRectF& area, std::int64_t rows, std::int64_t columns,
                  std::function<Hit(std::int64_t, std::int64_t)> cell) {
    if (with_meanings_ && rows > 0 && columns > 0)
        meanings_.push_back({area, {}, 0, clip_, {.kind = Hit::Kind::legend}, {}, rows, columns, std::move(cell)});
}

void Scene::paint(const Mark& mark, QPainter& painter, const Style& style) {
    const Theme& theme = *style.theme;
    const Tone tone{mark.head && style.dims(*mark.head)};
    std::visit(Visit{[&](const TextMark& m) {
                         (m.digits ? draw::number : draw::text)(painter, m.baseline, m.text, m.font, tone(m.color), m.align);
                     },
                     [&](const TokenMark& m) {
                         const QColor plain = m.label.special ? theme.muted : theme.text;
                         const QColor color = tone(tone.faint && !m.color.isValid() ? plain : m.color);
                         if (m.upwards)
                             draw::token_upwards(painter, m.box, m.label, m.font, theme, color);
                         else
                             draw::token(painter, m.box, m.label, m.font, theme, m.align, color);
                     },
                     [&](const BoxMark& m) { draw::box(painter, m.box, m.radius, tone(m.fill), tone(m.stroke), m.width); },
                     [&](const FillMark& m) { painter.fillRect(m.box, tone(m.color)); },
                     [&](const LineMark& m) {
                         painter.setPen(tone(m.pen));
                         painter.drawLine(m.from, m.to);
                     },
                     [&](const CircleMark& m) {
                         painter.setPen(tone(m.pen));
                         painter.setBrush(tone(m.brush));
                         painter.drawEllipse(m.centre, m.radius, m.radius);
                     },
                     [&](const PathMark& m) {
                         painter.setPen(tone(m.pen));
                         painter.setBrush(tone(m.brush));
                         painter.drawPath(m.path);
                     },
                     [&](const HatchMark& m) { draw::hatch(painter, m.box, m.step, tone(m.color)); },
                     [&](const PictureMark& m) {
                         const draw::SavedState saved(painter);
                         if (tone.faint) painter.setOpacity(painter.opacity() * dimmed_strength);
                         m.paint(painter);
                     }},
               mark.shape);
}

void Scene::paint(QPainter& painter, const QRectF& exposed, const Style& style) const {
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    const QRectF seen = draw::on_target(painter, exposed);
    for (auto mark = marks_.begin(); mark != marks_.end();) {
        style.cancel.throw_if_cancelled();
        const auto end = std::find_if(mark, mark + std::min(marks_at_once, marks_.end() - mark),
                                      [&](const Mark& other) { return other.clip != mark->clip; });
        const auto paint_them = [&] {
            for (; mark != end; ++mark)
                if (meet(mark->bounds, seen)) paint(*mark, painter, style);
        };
        if (mark->clip < 0) {
            paint_them();
            continue;
        }
        const draw::SavedState saved(painter);
        painter.setClipRect(clips_[static_cast<std::size_t>(mark->clip)], Qt::IntersectClip);
        paint_them();
    }
}

bool Scene::Meaning::contains(QPointF point) const {
    if (!area.contains(point)) return false;
    if (path.isEmpty()) return true;
    if (reach == 0) return path.contains(point);
    QPainterPathStroker stroker;
    stroker.setWidth(reach);
    return stroker.createStroke(path).contains(point);
}

Hit Scene::Meaning::in_cell(std::int64_t row, std::int64_t column) const {
    Hit found = cell(row, column);
    const double wide = area.width() / static_cast<double>(columns), tall = area.height() / static_cast<double>(rows);
    found.area = {area.left() + static_cast<double>(column) * wide, area.top() + static_cast<double>(row) * tall, wide, tall};
    return found;
}

Hit Scene::Meaning::in_cell(QPointF point) const {
    const auto at = [](double offset, double whole, std::int64_t count) {
        return std::clamp<std::int64_t>(static_cast<std::int64_t>(offset / whole * static_cast<double>(count)), 0, count - 1);
    };
    return in_cell(at(point.y() - area.top(), area.height(), rows), at(point.x() - area.left(), area.width(), columns));
}

Hit Scene::clipped(Hit hit, const Meaning& by) const {
    if (by.clip >= 0) hit.area &= clips_[static_cast<std::size_t>(by.clip)];
    return hit;
}

Hit Scene::told(const Meaning& meaning) const {
    Hit hit = meaning.hit;
    hit.area = meaning.area;
    if (meaning.tip) hit.tip = meaning.tip();
    return clipped(std::move(hit), meaning);
}

Hit Scene::at(QPointF point) const {
    for (auto meaning = meanings_.rbegin(); meaning != meanings_.rend(); ++meaning) {
        if (meaning->clip >= 0 && !clips_[static_cast<std::size_t>(meaning->clip)].contains(point)) continue;
        if (!meaning->contains(point) || (meaning->cell && meaning->in_cell(point).kind == Hit::Kind::none)) continue;
        if (meaning->hit.kind == Hit::Kind::none) return {};
        return meaning->cell ? clipped(meaning->in_cell(point), *meaning) : told(*meaning);
    }
    return {};
}

std::vector<MarkPlace> Scene::places() const {
    std::vector<MarkPlace> places;
    const auto add = [&](Hit hit) {
        const QPointF middle = hit.area.center();
        if (hit.kind != Hit::Kind::none && !hit.area.isEmpty()) places.push_back({std::move(hit), middle});
    };
    for (const Meaning& meaning : meanings_) {
        if (meaning.cell) {
            if (meaning.rows * meaning.columns > most_cells_listed) continue;
            for (std::int64_t row = 0; row < meaning.rows; ++row)
                for (std::int64_t column = 0; column < meaning.columns; ++column)
                    add(clipped(meaning.in_cell(row, column), meaning));
        } else if (meaning.path.isEmpty()) {
            add(told(meaning));
        } else if (meaning.reach > 0) {
            places.push_back({told(meaning), meaning.path.pointAtPercent(0.5), meaning.path, meaning.reach});
        } else if (const QPointF middle = meaning.area.center(); meaning.contains(middle)) {
            places.push_back({told(meaning), middle, meaning.path});
        }
    }
    return places;
}

std::optional<QRectF> Scene::place_of(HeadId head) const {
    const auto found = std::ranges::find_if(meanings_, [&](const Meaning& m) { return m.is_head() && *m.hit.head == head; });
    return found == meanings_.end() ? std::nullopt : std::optional(found->area);
}

std::vector<HeadId> Scene::heads_in(const QPolygonF& area) const {
    std::vector<HeadId> heads;
    for (const Meaning& meaning : meanings_)
        if (meaning.is_head() && area.containsPoint(meaning.area.center(), Qt::OddEvenFill)) heads.push_back(*meaning.hit.head);
    std::ranges::sort(heads);
    const auto rest = std::ranges::unique(heads);
    heads.erase(rest.begin(), rest.end());
    return heads;
}

QSizeF SceneFigure::layout(QSizeF available, const Style& style, const Selection& selection) {
    const QSizeF size = place(available, style, selection);
    made_.reset();
    seen_ = {{}, size};
    style_ = style;
    selection_ = selection;
    return size;
}

const Scene& SceneFigure::scene(const Style& style, const Selection& selection) const {
    if (!made_ || made_->seen != seen_ || !same_look(made_->style, style) || made_->selection != selection) {
        made_.emplace(Made{Scene(), seen_, style, selection});
        draw_on(made_->scene, seen_, style, selection);
    }
    return made_->scene;
}

void SceneFigure::paint(QPainter& painter, const QRectF& exposed, const Style& style, const Selection& selection) const {
    if (style.exporting) {
        Scene scene(false);
        draw_on(scene, exposed, style, selection);
        return scene.paint(painter, exposed, style);
    }
    seen_ = exposed;
    style_ = style;
    selection_ = selection;
    scene(style, selection).paint(painter, exposed, style);
}

Hit SceneFigure::hit_test(QPointF point, const Style& style, const Selection& selection) const {
    Hit hit = scene(style, selection).at(point);
    if (hit.kind == Hit::Kind::head && hit.head && style.dims(*hit.head)) hit.tip += QStringLiteral("  (not in the filter)");
    return hit;
}

std::optional<std::vector<MarkPlace>> SceneFigure::marks(const Style& style, const Selection& selection) const {
    return scene(style, selection).places();
}

std::optional<QRectF> SceneFigure::place_of_head(HeadId head) const { return scene(style_, selection_).place_of(head); }

std::vector<HeadId> SceneFigure::heads_in(const QPolygonF& area) const { return scene(style_, selection_).heads_in(area); }

}  // namespace headlight::figure
