// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QPushButton>
#include <QToolButton>
#include <QWidget>

#include <map>

class QHBoxLayout;

namespace headlight::ui {

class PromptBar;

/// The first row of the window: model, pages, the field of the palette, the menu. In a low window it joins the row of the text.
class TopBar : public QWidget {
    Q_OBJECT
public:
    TopBar(Document&, Jobs&, QWidget* parent = nullptr);

    QPushButton& model_button() { return *model_; }
    QToolButton& page_button(Page page) { return *buttons_.at(page); }
    QToolButton& page_list() { return *list_; }
    QToolButton& palette_button() { return *palette_; }
    QToolButton& menu_button() { return *menu_; }
    void set_page(Page);
    /// Fits the window's size; `into`: the row of the text that it joins, where that is there.
    void fit(QSize window, PromptBar* into);

Q_SIGNALS:
    void page_asked(headlight::ui::Page page);
    void palette_asked();

private:
    void show_document();
    void show_work(Jobs::Lane);

    Document& document_;
    Jobs& jobs_;
    QPushButton* model_;
    QFrame* segments_;
    std::map<Page, QToolButton*> buttons_;
    QToolButton *list_, *palette_, *menu_;
    QHBoxLayout* row_;
    bool joined_ = false;
};

}  // namespace headlight::ui
