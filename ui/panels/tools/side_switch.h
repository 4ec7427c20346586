// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QFrame>
#include <QToolButton>

#include <map>

namespace headlight::ui {

/// "A | B | A+B | B − A": which of two runs all views show. Hidden where there is one.
class SideSwitch : public QFrame {
    Q_OBJECT
public:
    explicit SideSwitch(Document&, QWidget* parent = nullptr);
    QToolButton& button(figure::Side side) { return *buttons_.at(side); }
    /// Both next to each other.
    QToolButton& both() { return *both_; }
    /// A view without a difference has no B − A, one of two runs nothing to choose.
    void set_view(const View&);
    /// To the next of those that the view has, or back.
    void step(int by);
    QToolButton& end_button() { return *end_; }

Q_SIGNALS:
    /// B is not wanted any more.
    void end_asked();

private:
    void show_document();

    Document& document_;
    View view_ = figure::view_id(0);
    std::map<figure::Side, QToolButton*> buttons_;
    QToolButton *both_ = nullptr, *end_;
};

}  // namespace headlight::ui
