// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/figure_canvas.h"

#include "headlight/base/facts_of.h"

#include <QMetaMethod>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include <cmath>
#include <new>
#include <utility>

namespace headlight::ui {

namespace {

constexpr double smallest_zoom = 1;
constexpr double smallest_scale = 0.5, largest_scale = 3;  ///< of figures that are no maps
constexpr int refine_ms = 20;
constexpr int fade_ms = 120;  ///< figures that come sooner need no fading
constexpr int veil = 165;     ///< opacity of the ground over an outdated figure

bool pins_something(const figure::Hit& hit) {
    using Kind = figure::Hit::Kind;
    return hit.kind != Kind::none && hit.kind != Kind::legend && (hit.kind != Kind::dimension || hit.query || hit.neuron);
}

}  // namespace

FigureCanvas::FigureCanvas(SelectionModel& selection, QWidget* parent) : Canvas(parent), selection_(selection) {
    painted_ = selection_.get();
    refine_.setSingleShot(true);
    connect(&refine_, &QTimer::timeout, this, [this] {
        sharpen();
        viewport()->update();
    });
    fade_.setSingleShot(true);
    fade_.setInterval(fade_ms);
    connect(&fade_, &QTimer::timeout, this, [this] {
        outdated_ = figure_ != nullptr;
        raise_revision();
        viewport()->update();
    });
    connect(&selection_, &SelectionModel::changed, this, &FigureCanvas::selection_changed);
    connect(&selection_, &SelectionModel::about_to_reset, this, [this] { set_stale(figure_ != nullptr); });
}

/// By whoever runs jobs for this canvas; else here.
void FigureCanvas::sharpen() {
    const figure::Sharpening work = figure_ ? figure_->sharpening() : nullptr;
    if (!work) return;
    if (isSignalConnected(QMetaMethod::fromSignal(&FigureCanvas::sharpening_asked)))
        Q_EMIT sharpening_asked(work);
    else
        guarded([&] { work({})(); });
}

void FigureCanvas::raise_revision() {
    ++revision_;
    Q_EMIT marks_changed();
}

bool FigureCanvas::guarded(const std::function<void()>& work) {
    const auto held = figure_;  // outlives the call that drops it
    const auto give_up = [this](const ErrorFacts& facts) {
        figure_.reset();
        content_ = {};
        ++revision_;
        // Queued: this may be in a paint, or in the call that shows the figure.
        QMetaObject::invokeMethod(
            this,
            [this, facts] {
                update_scroll_bars();
                raise_revision();
                viewport()->update();
                Q_EMIT failed(facts);
            },
            Qt::QueuedConnection);
        return false;
    };
    try {
        work();
        return true;
    } catch (const Error& error) {
        return give_up(error.facts());
    } catch (const std::bad_alloc&) {
        return give_up({.problem = "There is not enough memory for the picture"});
    } catch (...) {
        return give_up(facts_of_current_exception());
    }
}

figure::Selection FigureCanvas::selection_of_figure() const { return of_b_ ? of_b_->in_b(selection_.get()) : selection_.get(); }

void FigureCanvas::set_figure(std::shared_ptr<figure::Figure> figure, const figure::Beside* of_b) {
    const bool same_view = figure_ && figure && figure_->view() == figure->view();
    figure_ = std::move(figure);
    side_words_.clear();
    of_b_ = of_b ? std::optional<figure::SidePlaces>(*of_b) : std::nullopt;
    brush_room_.reset();  // it was drawn on the one before
    brush_.reset();
    if (!same_view) {
        style_.zoom = 1;
        verticalScrollBar()->setValue(0);
    }
    stale_ = false;
    set_outdated(false);
    painted_ = selection_of_figure();
    if (figure_) describe(figure_.get());
    relayout();
    if (!same_view) horizontalScrollBar()->setValue(figure_ && figure_->begins_at_right() ? horizontalScrollBar()->maximum() : 0);
    hover_again();
}

void FigureCanvas::set_side_words(const QString& words) {
    side_words_ = words;
    if (figure_ && !words.isEmpty()) setAccessibleDescription(accessibleDescription() + u' ' + words + u'.');
    viewport()->update();
}

void FigureCanvas::set_style(const figure::Style& style) {
    const double zoom = style_.zoom;
    style_ = style;
    style_.zoom = zoom;
    style_.exporting = false;
    relayout();
}

void FigureCanvas::set_stale(bool stale) {
    if (std::exchange(stale_, stale) != stale) raise_revision();
}

void FigureCanvas::set_outdated(bool outdated) {
    if (outdated) {
        if (!outdated_ && !fade_.isActive()) fade_.start();
        return;
    }
    fade_.stop();
    if (!std::exchange(outdated_, false)) return;
    raise_revision();
    viewport()->update();
}

void FigureCanvas::set_in_panel() {
    in_panel_ = true;
    relayout();
}

QSize FigureCanvas::sizeHint() const { return in_panel_ ? QSize(120, 200) : QSize(640, 480); }

void FigureCanvas::lay_out() {
    const double scale = figure_->zoomable() ? 1 : style_.zoom;
    const QSizeF room = QSizeF(viewport()->size() - 2 * margin_) / scale;
    const QSizeF available(std::max(room.width(), 40.0), std::max(room.height(), 40.0));
    content_ = figure_->layout(available, style_, painted_);
}

double FigureCanvas::least_zoom() const { return figure_ && !figure_->zoomable() ? smallest_scale : smallest_zoom; }
double FigureCanvas::most_zoom() const {
    return !figure_ ? smallest_zoom : figure_->zoomable() ? std::max(smallest_zoom, figure_->max_zoom()) : largest_scale;
}
bool FigureCanvas::can_zoom(int direction) const {
    return figure_ && !in_panel_ && (direction > 0 ? style_.zoom < most_zoom() - 1e-9 : style_.zoom > least_zoom() + 1e-9);
}

void FigureCanvas::relayout() {
    tip_.forget();
    content_ = {};
    if (figure_) {
        guarded([&] {
            lay_out();
            // A shorter text has larger cells: what was zoomed in on may be too near now.
            if (style_.zoom <= most_zoom()) return;
            style_.zoom = most_zoom();
            lay_out();
        });
    }
    update_scroll_bars();
    raise_revision();
    viewport()->update();
}

void FigureCanvas::update_scroll_bars() {
    const QSize view = viewport()->size();
    const auto set = [](QScrollBar* bar, double content, int room) {
        bar->setRange(0, std::max(0, int(std::ceil(content - room - 0.01))));  // not by a rounding error
        bar->setPageStep(room);
        bar->setSingleStep(24);
    };
    // Also when a vertical bar has just taken some of the room.
    auto* across = horizontalScrollBar();
    const bool at_end = figure_ && figure_->begins_at_right() && across->value() == across->maximum();
    set(across, content_.width() * style_.zoom + 2 * margin_.width(), view.width());
    if (at_end) across->setValue(across->maximum());
    set(verticalScrollBar(), content_.height() * style_.zoom + 2 * margin_.height(), view.height());
}

QPointF FigureCanvas::origin() const {
    return QPointF(margin_.width() - horizontalScrollBar()->value(), margin_.height() - verticalScrollBar()->value());
}

QPointF FigureCanvas::to_viewport(QPointF p) const { return p * style_.zoom + origin(); }
QPointF FigureCanvas::to_figure(QPointF p) const { return (p - origin()) / style_.zoom; }
QRectF FigureCanvas::in_viewport(const QRectF& area) const { return {to_viewport(area.topLeft()), area.size() * style_.zoom}; }

void FigureCanvas::reveal(const QRectF& part, int covered) {
    if (!figure_ || figure_->zoomable()) return;
    const auto scroll = [covered](QScrollBar* bar, double from, double to, int room) {
        const int margin = std::min(std::max(room / 5, covered), room / 3);
        // What is wider than the canvas is a row: it is revealed as far as it can be.
        if (bar->maximum() == 0 || to - from > room - 2 * margin) return;
        if (from < margin || to > room - margin) bar->setValue(bar->value() + int((from + to) / 2) - room / 2);
    };
    const QPointF top_left = to_viewport(part.topLeft()), bottom_right = to_viewport(part.bottomRight());
    scroll(verticalScrollBar(), top_left.y(), bottom_right.y(), viewport()->height());
    scroll(horizontalScrollBar(), top_left.x(), bottom_right.x(), viewport()->width());
}

void FigureCanvas::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    const figure::Theme& theme = *style_.theme;
    painter.fillRect(event->rect(), in_panel_ ? theme.panel : theme.canvas);
    if (!figure_) {
        placeholder_.paint(painter, viewport()->rect(), theme);
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setRenderHint(QPainter::TextAntialiasing);
    const QPointF o = origin();
    // Figures keep titles and legends inside what can be seen, so they get all of it; Qt clips to what is exposed.
    const QRectF exposed(to_figure(QPointF(0, 0)), QSizeF(viewport()->size()) / style_.zoom);
    painter.translate(o);
    painter.scale(style_.zoom, style_.zoom);
    guarded([&] { figure_->paint(painter, exposed, style_, painted_); });
    painter.resetTransform();
    if (figure_) figure::paint_side_words(painter, viewport()->rect(), side_words_, theme, theme.canvas);
    if (outdated_) {
        QColor ground = theme.canvas;
        ground.setAlpha(veil);
        painter.fillRect(event->rect(), ground);
    }
    paint_brush(painter);
    if (figure_ && figure_->refining()) refine_.start(refine_ms);
}

void FigureCanvas::resizeEvent(QResizeEvent*) { relayout(); }
/// Titles and legends stay where they are while the rest moves: nothing can be shifted.
void FigureCanvas::scrollContentsBy(int, int) {
    tip_.forget();
    raise_revision();
    viewport()->update();
}

void FigureCanvas::selection_changed(bool hover_only) {
    if (!hover_only) tip_.forget();  // a new figure may be on its way
    if (stale_ || !figure_) return;
    painted_ = selection_of_figure();
    if (hover_only) return viewport()->update();
    relayout();
    hover_again();
}

/// What is under the pointer is another thing now, or nothing: after a key press or an undo, which end the hover, the tip
/// goes until the pointer moves.
void FigureCanvas::hover_again() {
    if (!pointer_) return;
    const figure::Selection& s = selection_.get();
    if (s.hover_head || s.hover_query || s.hover_key) return hover(QPointF(*pointer_));
    pointer_.reset();
    Q_EMIT pointed_at({});
}

figure::Hit FigureCanvas::hit_at(QPointF p) {
    if (!answers()) return {};
    figure::Hit hit;
    guarded([&] { hit = figure_->hit_test(to_figure(p), style_, painted_); });
    return of_b_ ? of_b_->in_a(std::move(hit)) : hit;
}

std::optional<std::vector<figure::MarkPlace>> FigureCanvas::marks() {
    std::optional<std::vector<figure::MarkPlace>> found;
    if (answers()) guarded([&] { found = figure_->marks(style_, painted_); });
    if (found && of_b_)
        for (auto& mark : *found) mark.hit = of_b_->in_a(std::move(mark.hit));
    return found;
}

void FigureCanvas::hover(QPointF p) {
    using Kind = figure::Hit::Kind;
    pointer_ = p;
    const figure::Hit hit = hit_at(p);
    switch (hit.kind) {
        case Kind::head:
        case Kind::head_square: selection_.hover_head(hit.head); break;
        case Kind::query:
        case Kind::row_toggle: selection_.hover(std::nullopt, hit.query, std::nullopt); break;
        case Kind::key: selection_.hover(std::nullopt, std::nullopt, hit.key); break;
        case Kind::pair: selection_.hover(hit.head, hit.query, hit.key); break;
        case Kind::dimension: selection_.hover(std::nullopt, hit.query, hit.key); break;
        case Kind::option:
        case Kind::legend:
        case Kind::none: selection_.clear_hover(); break;
    }
    viewport()->setCursor(pins_something(hit) ? Qt::PointingHandCursor : Qt::ArrowCursor);
    Q_EMIT pointed_at(hit.tip);
}

void FigureCanvas::leave() {
    pointer_.reset();
    selection_.clear_hover();
    Q_EMIT pointed_at({});
}

void FigureCanvas::brush_to(QPointF p) {
    if (!brush_ && (p - *press_).manhattanLength() <= 6) return;
    if (lasso_) {
        if (!brush_) brush_ = QPolygonF({*press_});
        const QRectF& room = *brush_room_;
        brush_->append({std::clamp(p.x(), room.left(), room.right()), std::clamp(p.y(), room.top(), room.bottom())});
    } else {
        brush_ = QRectF(*press_, p).normalized() & *brush_room_;
    }
    viewport()->setCursor(Qt::CrossCursor);
    viewport()->update();
}

void FigureCanvas::paint_brush(QPainter& painter) const {
    if (!brush_) return;
    QColor inside = style_.theme->accent;
    inside.setAlphaF(0.12F);
    painter.setPen(QPen(style_.theme->accent, 1));
    painter.setBrush(inside);
    if (lasso_) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.drawPolygon(*brush_);
    } else {
        painter.drawRect(brush_->boundingRect().toAlignedRect().adjusted(0, 0, -1, -1));
    }
}

void FigureCanvas::mouseMoveEvent(QMouseEvent* event) {
    if (press_ && brush_room_ && (event->buttons() & Qt::LeftButton)) return brush_to(event->position());
    if (press_ && pulls_pair_ && (event->buttons() & Qt::LeftButton)) {
        const double up = press_->y() - event->position().y();
        if (!pulled_ && std::abs(up) < 3) return;
        pulled_ = true;
        viewport()->setCursor(Qt::SizeVerCursor);
        Q_EMIT pair_dragged(pressed_hit_, up, false);
        return;
    }
    if (press_ && figure_ && (event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) {
        const QPointF moved = event->position() - *press_;
        if (!panning_ && moved.manhattanLength() > 6) {
            panning_ = true;
            pan_from_ = QPointF(horizontalScrollBar()->value(), verticalScrollBar()->value());
            viewport()->setCursor(Qt::ClosedHandCursor);
        }
        if (panning_) {
            horizontalScrollBar()->setValue(int(pan_from_->x() - moved.x()));
            verticalScrollBar()->setValue(int(pan_from_->y() - moved.y()));
            return;
        }
    }
    hover(event->position());
}

void FigureCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return event->ignore();
    press_ = event->position();
    panning_ = double_click_ = false;
    pressed_hit_ = hit_at(event->position());
    brush_room_.reset();
    brush_.reset();
    pulls_pair_ = pulled_ = false;
    if (event->button() != Qt::LeftButton || !figure_ || stale_) return;
    guarded([&] { brush_room_ = figure_->brush_area(to_figure(event->position())); });
    if (brush_room_) brush_room_ = in_viewport(*brush_room_);
    pulls_pair_ = !brush_room_ && (event->modifiers() & Qt::ShiftModifier) && pressed_hit_.query && pressed_hit_.key;
}

void FigureCanvas::mouseReleaseEvent(QMouseEvent* event) {
    if (const bool pulled = std::exchange(pulled_, false); std::exchange(pulls_pair_, false) && pulled && press_) {
        Q_EMIT pair_dragged(pressed_hit_, press_->y() - event->position().y(), true);
        press_.reset();
        return hover(event->position());
    }
    const bool was_click = press_ && !panning_ && !brush_ && !double_click_ && event->button() == Qt::LeftButton;
    if (const auto drawn = std::exchange(brush_, std::nullopt)) {
        std::vector<HeadId> heads;
        QPolygonF area;
        for (const QPointF& at : *drawn) area << to_figure(at);
        if (figure_ && !stale_ && guarded([&] { heads = figure_->heads_in(area); }))
            Q_EMIT brushed(heads, event->modifiers() & Qt::ShiftModifier);
        viewport()->update();
    }
    brush_room_.reset();
    press_.reset();
    panning_ = double_click_ = false;
    if (was_click) {
        const figure::Hit hit = hit_at(event->position());
        if (hit.kind == pressed_hit_.kind && hit.options == pressed_hit_.options) Q_EMIT clicked(hit, event->modifiers());
    }
    hover(event->position());
}

void FigureCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    double_click_ = true;
    press_ = event->position();
    const figure::Hit hit = hit_at(event->position());
    if (hit.kind == figure::Hit::Kind::none && figure_ && figure_->zoomable()) zoom_to_fit();
    Q_EMIT double_clicked(hit);
}

void FigureCanvas::zoom_by(double factor, QPointF around) {
    if (!figure_ || in_panel_) return;
    double zoom = std::clamp(style_.zoom * factor, least_zoom(), most_zoom());
    if (!figure_->zoomable() && std::abs(zoom - 1) < 1e-6) zoom = 1;  // in and out again, but for rounding
    if (zoom == style_.zoom) return;
    const QPointF held = to_figure(around);
    style_.zoom = zoom;
    if (!guarded([this] { lay_out(); })) return;
    update_scroll_bars();
    const QPointF wanted = held * zoom + QPointF(margin_.width(), margin_.height()) - around;
    horizontalScrollBar()->setValue(int(std::lround(wanted.x())));
    verticalScrollBar()->setValue(int(std::lround(wanted.y())));
    raise_revision();
    viewport()->update();
}

void FigureCanvas::zoom_to_fit() {
    style_.zoom = 1;
    relayout();
}

void FigureCanvas::wheelEvent(QWheelEvent* event) {
    const bool zooms = figure_ && !in_panel_ &&
                       (event->modifiers() & Qt::ControlModifier ||
                        (figure_->zoomable() && event->pixelDelta().isNull() && !(event->modifiers() & Qt::ShiftModifier)));
    if (!zooms || event->angleDelta().y() == 0) {
        QAbstractScrollArea::wheelEvent(event);
        hover(event->position());
        return;
    }
    zoom_by_wheel(*event);
}

void FigureCanvas::keyPressEvent(QKeyEvent* event) {
    const QPointF middle = QRectF(viewport()->rect()).center();
    switch (event->key()) {
        case Qt::Key_Plus:
        case Qt::Key_Equal: return zoom_by(zoom_step, middle);
        case Qt::Key_Minus: return zoom_by(1 / zoom_step, middle);
        case Qt::Key_0: return zoom_to_fit();
        case Qt::Key_PageUp:
        case Qt::Key_PageDown:
        case Qt::Key_Home:
        case Qt::Key_End: return QAbstractScrollArea::keyPressEvent(event);
        default: event->ignore();  // arrows and letters belong to the window
    }
}

}  // namespace headlight::ui
