// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/figure_canvas.h"
#include "ui/canvas/recipe.h"
#include "ui/document/document.h"

#include <QWidget>

namespace headlight::ui {

/// One view of the document: makes the figure for its view, selection and options (long ones in a job), and turns clicks
/// into selection.
class ViewPane : public QWidget {
    Q_OBJECT
public:
    ViewPane(Document&, Jobs&, Jobs::Lane, QWidget* parent = nullptr);

    const View& view() const { return view_; }
    void set_view(const View&);
    /// The run that it shows whatever the document says; none: the document's.
    void set_side(std::optional<figure::Side>);
    FigureCanvas& canvas() { return *canvas_; }
    /// The figure on screen is of the view that is chosen, and not of the one before it, faint while the next is drawn.
    bool shows_own_view() const { return shown_ && shown_->state.view == view_; }
    /// Of the chosen view's figure; empty: it is not there yet.
    QString description() const;
    /// The recipe of the figure on screen; none while there is nothing.
    const std::optional<Recipe>& shown() const { return shown_; }

Q_SIGNALS:
    /// A new figure is on screen.
    void figure_changed();
    void activated();
    /// A click asks for another view of what was clicked.
    void view_asked(const headlight::ui::View& view);

protected:
    void showEvent(QShowEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void refresh();
    void make_figure();
    void show_why_empty();
    bool is_behind() const;
    void stop_drawing();
    void clear(const QString& title, const QString& text);
    void give_up(const ErrorFacts&);
    void restyle();
    void reveal_pin();
    void reveal_opened();
    void show_figure(Recipe, std::shared_ptr<figure::Figure>);
    void click(const figure::Hit&, Qt::KeyboardModifiers);
    void double_click(const figure::Hit&);
    void click_head(HeadId, bool add);
    void drag_pair(const figure::Hit&, double up, bool ended);
    double weight_now(const std::string& place, HeadId, Position query, Position key) const;

    Document& document_;
    Jobs& jobs_;
    Jobs::Lane lane_, sharpen_lane_;
    View view_ = figure::view_id(0);
    std::optional<figure::Side> side_;
    FigureCanvas* canvas_;
    std::optional<Recipe> shown_, awaited_;
    std::optional<Position> revealed_query_, revealed_key_;
    std::optional<double> dragged_from_;  ///< the weight of the pair that is being dragged
    bool opened_by_click_ = false;        ///< the next figure shows what a click asked for
};

}  // namespace headlight::ui
