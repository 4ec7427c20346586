// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/figure.h"
#include "ui/canvas/placeholder.h"
#include "ui/style/own_tip.h"

#include <QAbstractScrollArea>

#include <optional>

class QWheelEvent;

namespace headlight::ui {

/// What all canvases share: a style, a placeholder while there is no figure, tips, the wheel and pinches that zoom.
class Canvas : public QAbstractScrollArea {
public:
    explicit Canvas(QWidget* parent = nullptr);

    void set_placeholder(const QString& title, const QString& text);
    const figure::Style& style_in_use() const { return style_; }
    virtual void zoom_by(double factor, QPointF around_viewport) = 0;
    virtual void zoom_to_fit() = 0;
    /// What is at a position of the viewport.
    virtual figure::Hit hit_at(QPointF) = 0;

protected:
    static constexpr double zoom_step = 1.2;

    bool viewportEvent(QEvent*) override;
    void zoom_by_wheel(QWheelEvent&);
    /// For screen readers: the figure, or the placeholder where it is null.
    void describe(const figure::Figure*);
    virtual bool has_figure() const = 0;
    virtual void hover(QPointF) = 0;
    /// The pointer has left.
    virtual void leave() = 0;
    /// From the units of a hit's area to the viewport.
    virtual QRectF in_viewport(const QRectF& area) const { return area; }

    figure::Style style_;
    Placeholder placeholder_;
    OwnTip tip_;
    std::optional<QPointF> press_;  ///< where a button went down
    bool double_click_ = false;
};

}  // namespace headlight::ui
