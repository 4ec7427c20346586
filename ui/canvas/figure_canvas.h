// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/figure/core/sides.h"
#include "ui/canvas/canvas.h"
#include "ui/document/selection_model.h"

#include <QTimer>

#include <functional>
#include <memory>

namespace headlight::ui {

/// Shows any figure: lays it out, scrolls or zooms and pans it, sets the hover of the selection, and emits clicks, whose
/// meaning others decide.
class FigureCanvas : public Canvas {
    Q_OBJECT
public:
    explicit FigureCanvas(SelectionModel&, QWidget* parent = nullptr);

    /// Null: only the placeholder text is shown. Scroll position and zoom are kept for a figure of the same view. `of_b`: the
    /// figure is of this comparison's B, and the selection's positions are A's.
    void set_figure(std::shared_ptr<figure::Figure>, const figure::Beside* of_b = nullptr);
    const std::shared_ptr<figure::Figure>& shown() const { return figure_; }
    /// figure::side_words() of the figure.
    void set_side_words(const QString&);
    const QString& side_words() const { return side_words_; }
    void set_style(const figure::Style&);
    /// The figure is of an older text than the selection: keep painting the selection it was made for.
    void set_stale(bool);
    /// The figure is of another view or model than what is chosen, whose own is on its way: after a moment it is painted
    /// faintly, and answers no pointer. A new figure ends this.
    void set_outdated(bool);
    bool outdated() const { return outdated_; }
    /// What is shown answers the pointer, keys and screen readers.
    bool answers() const { return figure_ && !stale_ && !outdated_; }
    /// Rises whenever marks come, go, move or say something else, and whenever answers() changes.
    quint64 revision() const { return revision_; }
    /// Heads are drawn around by hand, and not by a rectangle.
    void set_lasso(bool on) { lasso_ = on; }
    /// A small canvas inside a panel: painted on the panel's colour, and the wheel scrolls.
    void set_in_panel();
    void set_margins(int horizontal, int vertical) {
        margin_ = QSize(horizontal, vertical);
        relayout();
    }

    const figure::Selection& selection() const { return selection_.get(); }
    /// The same with the positions of the figure's run.
    figure::Selection selection_of_figure() const;
    double zoom() const { return style_.zoom; }
    /// Maps show more detail, other figures are scaled.
    void zoom_by(double factor, QPointF around_viewport) override;
    /// A step in (1) or out (-1) changes something.
    bool can_zoom(int direction) const;
    void zoom_to_fit() override;
    QSizeF content_size() const { return content_; }
    /// From figure units to the viewport; for tests and for screen readers.
    QPointF to_viewport(QPointF figure_point) const;
    QPointF to_figure(QPointF viewport_point) const;
    /// What is there; nothing while an old figure waits for its successor.
    figure::Hit hit_at(QPointF viewport_point) override;
    /// Figure::marks(), with the selection's positions.
    std::optional<std::vector<figure::MarkPlace>> marks();
    QRectF in_viewport(const QRectF& area) const override;
    /// Scrolls a figure that is larger than the canvas until a row or a part of it can be seen, this far from the edges:
    /// headings and legends stand there.
    void reveal(const QRectF& part, int covered = 110);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {80, 24}; }

Q_SIGNALS:
    void clicked(const headlight::figure::Hit& hit, Qt::KeyboardModifiers modifiers);
    void double_clicked(const headlight::figure::Hit& hit);
    /// A rectangle or a line was drawn around these; `add`: with Shift.
    void brushed(const std::vector<headlight::HeadId>& heads, bool add);
    /// The mark of a query and a key is dragged with Shift: pixels upwards since it was pressed; `ended`: it was let go.
    void pair_dragged(const headlight::figure::Hit& hit, double up, bool ended);
    /// Empty when the pointer left.
    void pointed_at(const QString& tip);
    /// The figure can be painted better after this work. Where nobody hears of it the canvas does the work itself.
    void sharpening_asked(const headlight::figure::Sharpening& work);
    /// revision() has risen.
    void marks_changed();
    /// The figure could not be laid out or painted, and is no longer shown.
    void failed(const headlight::ErrorFacts& facts);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void scrollContentsBy(int dx, int dy) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    /// An exception must not reach Qt's event loop: the figure is given up instead. False when that happened.
    bool guarded(const std::function<void()>&);
    void sharpen();
    void lay_out();
    double least_zoom() const;
    double most_zoom() const;
    void relayout();
    void update_scroll_bars();
    void raise_revision();
    void selection_changed(bool hover_only);
    bool has_figure() const override { return figure_ != nullptr; }
    void hover(QPointF viewport_point) override;
    void hover_again();
    void brush_to(QPointF viewport_point);
    void paint_brush(QPainter&) const;
    void leave() override;
    QPointF origin() const;

    SelectionModel& selection_;
    std::shared_ptr<figure::Figure> figure_;
    std::optional<figure::SidePlaces> of_b_;
    QString side_words_;
    figure::Selection painted_;  ///< what the figure is painted with
    QSizeF content_;
    QSize margin_{0, 0};
    std::optional<QPointF> pan_from_;
    std::optional<QRectF> brush_room_;  ///< of the viewport: the plot
    std::optional<QPolygonF> brush_;    ///< drawn in it
    bool lasso_ = false;
    figure::Hit pressed_hit_;
    std::optional<QPointF> pointer_;  ///< of the viewport, while a tip of this canvas is announced
    QTimer refine_;                   ///< paints again while a figure refines its pixels
    QTimer fade_;
    bool pulls_pair_ = false, pulled_ = false;
    bool panning_ = false, stale_ = false, outdated_ = false;
    bool in_panel_ = false;
    quint64 revision_ = 0;
};

}  // namespace headlight::ui
