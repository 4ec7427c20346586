// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/map/map_figure.h"
#include "ui/canvas/canvas.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace headlight::ui {

/// Shows a map of queries and keys: the wheel zooms, dragging moves or turns it, Shift-dragging draws a lasso. Clicks are
/// reported as signals.
class MapCanvas : public Canvas {
    Q_OBJECT
public:
    explicit MapCanvas(QWidget* parent = nullptr);

    /// Null: only the placeholder is shown. The look is kept.
    void set_figure(std::shared_ptr<figure::MapFigure>);
    const std::shared_ptr<figure::MapFigure>& figure() const { return figure_; }
    void set_style(const figure::Style&);
    /// The head with the frame.
    void set_focus_head(HeadId);
    const figure::Selection& selection() const { return selection_; }

    const figure::MapLook& look() const { return look_; }
    /// Changes the look, also of the figure.
    void edit(const std::function<void(figure::MapLook&)>&);
    /// Places of the figure are those of this size and look from now on.
    void lay_out();
    /// A head has a newer picture.
    void set_head(map::HeadMap);
    /// Visible heads, in the order of the map.
    std::vector<std::size_t> visible_heads();
    /// Draws a lasso without Shift.
    void set_lasso(bool on);
    bool lasso() const { return lasso_tool_; }
    void zoom_by(double factor, QPointF about) override;
    void zoom_to_fit() override;
    figure::Hit hit_at(QPointF) override;
    void turn_by(double yaw, double pitch);
    bool solid() const;  ///< the map has three dimensions
    /// The position of a point in the viewport.
    std::optional<QPointF> place_of(const figure::MapPoint&);
    std::optional<QPointF> middle_of(HeadId);
    /// The part of the viewport that a head takes; none: it is not on screen.
    std::optional<QRectF> area_of(HeadId);
    /// The nearest point that the single view shows, within 45° of a direction from another (or from the middle of the view).
    std::optional<figure::MapPoint> next_point(const std::optional<figure::MapPoint>& from, QPointF way);

    QSize sizeHint() const override { return {720, 560}; }
    QSize minimumSizeHint() const override { return {240, 180}; }

Q_SIGNALS:
    /// Emitted on a click on a cell, and on a point in it.
    void head_clicked(headlight::HeadId head);
    void point_clicked(const headlight::figure::MapPoint& point);
    void double_clicked(headlight::HeadId head);
    /// The matrix was zoomed until one cell fills the canvas; the single head until it is small.
    void zoomed_into(headlight::HeadId head);
    void zoomed_out_of(headlight::HeadId head);
    /// Empty and none when the pointer has left.
    void pointed_at(const QString& tip, std::optional<headlight::figure::MapPoint> point);
    void lassoed(const std::vector<std::int32_t>& points);
    /// The visible part of the map, or the look, has changed.
    void look_changed();

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void scrollContentsBy(int, int) override {}

private:
    enum class Drag { none, move, turn, lasso };
    bool has_figure() const override { return figure_ != nullptr; }
    void hover(QPointF) override;
    void leave() override;
    Drag drag_for(const QMouseEvent&) const;

    std::shared_ptr<figure::MapFigure> figure_;
    figure::MapLook look_;
    figure::Selection selection_;
    QPointF last_;
    Drag drag_ = Drag::none;
    bool lasso_tool_ = false;
};

}  // namespace headlight::ui
