// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/edits/edit_effects.h"
#include "ui/panels/edits/edit_row.h"
#include "ui/panels/edits/watch_popover.h"

#include <QScrollArea>

class QVBoxLayout;

namespace headlight::ui {

/// The document's recipe as a list of lines, with the effect of each edit on the watched answer, and a field for another one.
class EditsPanel : public QWidget {
    Q_OBJECT
public:
    EditsPanel(Document&, Jobs&, QWidget* parent = nullptr);

    EditField& adding() { return *adding_; }
    QToolButton& watch_button() { return *watch_; }
    QLabel& empty() { return *empty_; }
    /// How the text goes on without and with the edits.
    QLabel& continued() { return *continued_; }
    EditRow& row(std::size_t line) { return *rows_.at(line); }
    std::size_t rows() const { return rows_.size(); }
    const EditEffects& effects() const { return effects_; }
    /// Effects are computed though the list is closed: the strip above the view shows them.
    void watch(bool);
    QSize sizeHint() const override;
    /// Puts the cursor into the line, what stands in its first quotation marks selected or, without any, its last number.
    void choose_number(std::size_t line);

Q_SIGNALS:
    void open_asked();
    void save_asked();
    void close_asked();

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    QWidget* make_header();
    void show_document();
    void make_rows();
    void show_effects();
    void show_continued();
    void look();
    void drag(std::size_t line, int y, bool dropped);
    void add_typed();

    Document& document_;
    EditEffects effects_;
    QLabel *title_, *summary_, *alone_, *together_, *empty_, *problem_, *continued_;
    QToolButton *watch_, *open_, *save_;
    WatchPopover* popover_;
    QWidget* list_;
    QScrollArea* area_;
    QVBoxLayout* column_;
    QFrame* mark_;  ///< where a dragged line would go
    EditField* adding_;
    std::vector<EditRow*> rows_;
    bool watched_ = false;
};

}  // namespace headlight::ui
