// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QFrame>
#include <QToolButton>

#include <map>

namespace headlight::ui {

/// "A | B | B − A": which of two runs all views show. Hidden where there is one.
class SideSwitch : public QFrame {
    Q_OBJECT
public:
    explicit SideSwitch(Document&, QWidget* parent = nullptr);
    QToolButton& button(figure::Side side) { return *buttons_.at(side); }
    QToolButton& end_button() { return *end_; }

Q_SIGNALS:
    /// B is not wanted any more.
    void end_asked();

private:
    void show_document();

    Document& document_;
    std::map<figure::Side, QToolButton*> buttons_;
    QToolButton* end_;
};

}  // namespace headlight::ui
