// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/map/map_canvas.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <utility>

namespace headlight::ui {
namespace {

constexpr int drag_px = 5;
constexpr double degrees_a_px = 0.4;
constexpr double lasso_step = 2;  ///< px between two corners
constexpr double least_single = 0.6, filled = 0.95;

}  // namespace

MapCanvas::MapCanvas(QWidget* parent) : Canvas(parent) {
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

void MapCanvas::set_figure(std::shared_ptr<figure::MapFigure> figure) {
    tip_.forget();
    figure_ = std::move(figure);
    if (figure_) {
        figure_->set_look(look_);
        look_ = figure_->look();  // without settings that do not apply to this map
        describe(figure_.get());
    }
    Q_EMIT look_changed();
    viewport()->update();
}

void MapCanvas::set_style(const figure::Style& style) {
    style_ = style;
    viewport()->update();
}

void MapCanvas::set_focus_head(HeadId head) {
    selection_.focus = head;
    viewport()->update();
}

void MapCanvas::edit(const std::function<void(figure::MapLook&)>& change) {
    const std::string view = figure_ ? figure_->view() : std::string();
    change(look_);
    if (figure_) {
        figure_->set_look(look_);
        look_ = figure_->look();
        if (figure_->view() != view) describe(figure_.get());
    }
    Q_EMIT look_changed();
    viewport()->update();
}

void MapCanvas::set_head(map::HeadMap head) {
    if (!figure_) return;
    figure_->set_head(std::move(head));
    viewport()->update();
}

void MapCanvas::lay_out() {
    if (figure_) figure_->layout(QSizeF(viewport()->size()), style_, selection_);
}

bool MapCanvas::solid() const { return figure_ && figure_->map().heads.front().dims == 3; }

std::vector<std::size_t> MapCanvas::visible_heads() {
    std::vector<std::size_t> seen;
    if (!figure_) return seen;
    lay_out();
    for (std::size_t i = 0; i < figure_->map().heads.size(); ++i) {
        const map::HeadMap& head = figure_->map().heads[i];
        const auto place = figure_->place_of_head({head.layer, head.head});
        if (place && place->intersects(figure_->room())) seen.push_back(i);
    }
    return seen;
}

std::optional<QPointF> MapCanvas::place_of(const figure::MapPoint& point) {
    if (!figure_) return std::nullopt;
    lay_out();
    return figure_->place_of(point);
}

std::optional<QRectF> MapCanvas::area_of(HeadId head) {
    if (!figure_) return std::nullopt;
    lay_out();
    return figure_->place_of_head(head);
}

std::optional<QPointF> MapCanvas::middle_of(HeadId head) {
    const auto area = area_of(head);
    return area ? std::optional(area->center()) : std::nullopt;
}

std::optional<figure::MapPoint> MapCanvas::next_point(const std::optional<figure::MapPoint>& from, QPointF way) {
    const auto head = figure_ && look_.single ? figure_->index_of(*look_.single) : std::nullopt;
    if (!head) return std::nullopt;
    lay_out();
    const auto known = from ? figure_->place_of(*from) : std::nullopt;
    const QPointF start = known.value_or(figure_->room().center());
    const std::vector<std::uint8_t> drawn = figure_->drawn_points();
    std::optional<figure::MapPoint> found;
    double least = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const figure::MapPoint point{*head, static_cast<std::int32_t>(i)};
        const auto at = drawn[i] ? figure_->place_of(point) : std::nullopt;
        if (!at) continue;
        const QPointF by = *at - start;
        const double along = QPointF::dotProduct(by, way), square = QPointF::dotProduct(by, by);
        if (known && (along <= 0 || 2 * along * along < square * QPointF::dotProduct(way, way))) continue;
        if (found && square >= least) continue;
        found = point;
        least = square;
    }
    return found;
}

void MapCanvas::set_lasso(bool on) {
    lasso_tool_ = on;
    viewport()->setCursor(on ? Qt::CrossCursor : Qt::ArrowCursor);
}

void MapCanvas::zoom_by(double factor, QPointF about) {
    if (!figure_) return;
    lay_out();
    const figure::MapLook to = figure_->zoomed(factor, about);
    const QSizeF room = figure_->room().size();
    if (look_.single && factor < 1 && look_.zoom <= least_single) return Q_EMIT zoomed_out_of(*look_.single);
    if (const auto head = look_.single ? std::nullopt : figure_->head_at(about);
        head && factor > 1 && figure_->cell_side() * factor > filled * std::min(room.width(), room.height()))
        return Q_EMIT zoomed_into({figure_->map().heads[*head].layer, figure_->map().heads[*head].head});
    edit([&](figure::MapLook& look) { look.zoom = to.zoom, look.middle = to.middle; });
}

void MapCanvas::zoom_to_fit() {
    edit([](figure::MapLook& look) {
        look.zoom = 1;
        look.middle = look.single ? QPointF(0, 0) : QPointF(0.5, 0.5);
        look.yaw = look.pitch = 0;
    });
}

void MapCanvas::turn_by(double yaw, double pitch) {
    edit([&](figure::MapLook& look) {
        look.yaw = std::remainder(look.yaw + yaw, 360.0);
        look.pitch = std::clamp(look.pitch + pitch, -90.0, 90.0);
    });
}

// --- painting -------------------------------------------------------------------------------------------------------

void MapCanvas::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    painter.fillRect(event->rect(), style_.theme->canvas);
    if (figure_) {
        lay_out();
        return figure_->paint(painter, QRectF(viewport()->rect()), style_, selection_);
    }
    placeholder_.paint(painter, viewport()->rect(), *style_.theme);
}

void MapCanvas::resizeEvent(QResizeEvent*) {
    viewport()->update();
    Q_EMIT look_changed();
}

// --- the pointer ----------------------------------------------------------------------------------------------------

figure::Hit MapCanvas::hit_at(QPointF at) {
    if (!figure_) return {};
    lay_out();
    return figure_->hit_test(at, style_, selection_);
}

void MapCanvas::hover(QPointF at) {
    if (!figure_) return;
    lay_out();
    const auto point = figure_->point_at(at);
    if (look_.hovered != point) {
        look_.hovered = point;
        figure_->set_look(look_);
        viewport()->update();
    }
    const figure::Hit hit = hit_at(at);
    if (!lasso_tool_) viewport()->setCursor(point || (hit.head && !look_.single) ? Qt::PointingHandCursor : Qt::ArrowCursor);
    Q_EMIT pointed_at(hit.tip, point);
}

void MapCanvas::leave() {
    if (look_.hovered) {
        look_.hovered.reset();
        if (figure_) figure_->set_look(look_);
        viewport()->update();
    }
    Q_EMIT pointed_at({}, std::nullopt);
}

/// In three dimensions dragging turns the map; Ctrl or the middle button moves it as in two.
MapCanvas::Drag MapCanvas::drag_for(const QMouseEvent& event) const {
    const bool left = event.button() == Qt::LeftButton;
    if (left && look_.single && (lasso_tool_ || event.modifiers() & Qt::ShiftModifier)) return Drag::lasso;
    return left && solid() && !(event.modifiers() & Qt::ControlModifier) ? Drag::turn : Drag::move;
}

void MapCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return event->ignore();
    press_ = last_ = event->position();
    double_click_ = false;
    drag_ = Drag::none;
}

void MapCanvas::mouseMoveEvent(QMouseEvent* event) {
    const QPointF at = event->position();
    if (!press_ || !figure_ || !(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) return hover(at);
    if (drag_ == Drag::none) {
        if ((at - *press_).manhattanLength() <= drag_px) return;
        const QMouseEvent begun(QEvent::MouseButtonPress, at, event->globalPosition(),
                                event->buttons() & Qt::LeftButton ? Qt::LeftButton : Qt::MiddleButton, event->buttons(),
                                event->modifiers());
        drag_ = drag_for(begun);
        if (drag_ == Drag::lasso) edit([&](figure::MapLook& look) { look.lasso = {*press_}; });
        viewport()->setCursor(drag_ == Drag::lasso ? Qt::CrossCursor : Qt::ClosedHandCursor);
    }
    const QPointF by = at - std::exchange(last_, at);
    if (drag_ == Drag::turn) return turn_by(by.x() * degrees_a_px, by.y() * degrees_a_px);
    if (drag_ == Drag::move) {
        lay_out();
        const figure::MapLook to = figure_->moved(by);
        return edit([&](figure::MapLook& look) { look.middle = to.middle; });
    }
    if (look_.lasso.empty()) return;  // Esc or another map has ended it
    lay_out();
    const QRectF room = figure_->room();
    const QPointF corner(std::clamp(at.x(), room.left(), room.right()), std::clamp(at.y(), room.top(), room.bottom()));
    if ((corner - look_.lasso.back()).manhattanLength() < lasso_step) return;
    look_.lasso.push_back(corner);
    figure_->set_look(look_);
    viewport()->update();
}

void MapCanvas::mouseReleaseEvent(QMouseEvent* event) {
    const bool click = press_ && drag_ == Drag::none && !double_click_ && event->button() == Qt::LeftButton;
    const Drag drag = std::exchange(drag_, Drag::none);
    press_.reset();
    if (!figure_) return;
    lay_out();
    if (drag == Drag::lasso && !look_.lasso.empty()) {
        const QPolygonF around(QList<QPointF>(look_.lasso.begin(), look_.lasso.end()));
        const std::vector<std::int32_t> inside = figure_->points_in(around);
        edit([](figure::MapLook& look) { look.lasso.clear(); });
        Q_EMIT lassoed(inside);
    }
    if (click) {
        const auto point = figure_->point_at(event->position());
        const auto head = figure_->head_at(event->position());
        if (head) Q_EMIT head_clicked({figure_->map().heads[*head].layer, figure_->map().heads[*head].head});
        if (point) Q_EMIT point_clicked(*point);
    }
    viewport()->setCursor(lasso_tool_ ? Qt::CrossCursor : Qt::ArrowCursor);
    hover(event->position());
}

void MapCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !figure_) return;
    double_click_ = true;
    press_ = event->position();
    lay_out();
    if (const auto head = figure_->head_at(event->position()))
        Q_EMIT double_clicked({figure_->map().heads[*head].layer, figure_->map().heads[*head].head});
}

void MapCanvas::wheelEvent(QWheelEvent* event) {
    if (!figure_ || event->angleDelta().y() == 0) return event->ignore();
    zoom_by_wheel(*event);
}

/// Keys are handled by the page.
void MapCanvas::keyPressEvent(QKeyEvent* event) { event->ignore(); }

}  // namespace headlight::ui
