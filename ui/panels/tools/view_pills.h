// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/view_places.h"
#include "ui/document/document.h"

#include <QMenu>
#include <QToolButton>
#include <QWidget>

#include <map>

namespace headlight::ui {

/// The five questions as tabs and their views as pills. A question opens the view that was last used under it; the active pill,
/// or a right click on any, lists the presets of its view. In a small room the questions become one list, and pills that do not
/// fit stand behind "+2".
class ViewPills : public QObject {
    Q_OBJECT
public:
    ViewPills(Document&, QWidget* parent);

    QWidget& questions() { return *questions_; }
    QWidget& pills() { return *pills_; }
    void set_view(const View&);
    const View& view() const { return view_; }

    QToolButton& question(std::size_t number) { return *question_buttons_.at(number); }
    QToolButton& question_list() { return *question_list_; }
    /// The pill of the view or of the place that the view is a preset of.
    QToolButton& pill(const View&);
    QToolButton& more() { return *more_; }
    /// Lists the presets of the view's place.
    QMenu* preset_menu(const View&);

    /// Why a view is not there for this model or text; empty: it is.
    QString why_not(const View& view) const;
    /// What a click on the question or on the pill of a place opens; empty: nothing is there.
    View view_of_question(std::size_t number) const;
    View view_of_place(const figure::ViewPlace&) const;
    /// What a key of the place opens: its view, or the next preset where it is open.
    View next_of_place(const figure::ViewPlace&) const;

    /// Widths without and with folding.
    int width_of_questions() const;
    int width_of_pills() const;
    void fold_questions(bool);
    bool questions_folded() const { return folded_; }
    /// Shows the pills that fit this width.
    void fit_pills(int width);

Q_SIGNALS:
    void view_asked(const headlight::ui::View& view);
    void shown();

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Pill {
        const figure::ViewPlace* place;
        std::size_t question;
        QToolButton* button;
        QAction* folded;  ///< in the menu behind "+2"
    };
    void build();
    void look_for_reasons();
    void show_view();
    void show_presets(const Pill&);
    bool has(const figure::ViewPlace&) const;
    QString reason_of(const figure::ViewPlace&) const;
    std::size_t question_shown() const;

    Document& document_;
    View view_ = figure::view_id(0);
    std::map<View, QString> reasons_;
    std::map<std::size_t, View> last_of_question_;
    std::map<const figure::ViewPlace*, View> last_of_place_;
    QWidget *questions_, *pills_;
    QToolButton *question_list_, *more_;
    std::vector<QToolButton*> question_buttons_;
    std::vector<QAction*> question_entries_;
    std::vector<Pill> all_;
    QMenu* presets_;
    bool folded_ = false;
};

}  // namespace headlight::ui
