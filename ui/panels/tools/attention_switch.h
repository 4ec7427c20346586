// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QFrame>
#include <QToolButton>

#include <map>

namespace headlight::ui {

/// "Decoder | Encoder | Cross": which attention of an encoder-decoder model all views show. Hidden for other models.
class AttentionSwitch : public QFrame {
    Q_OBJECT
public:
    explicit AttentionSwitch(Document&, QWidget* parent = nullptr);
    QToolButton& button(model::Stack stack) { return *buttons_.at(stack); }

    /// In the order of the buttons.
    static constexpr model::Stack order[] = {model::Stack::decoder, model::Stack::encoder, model::Stack::cross};
    static QString title(model::Stack);        ///< "Cross"
    static QString explanation(model::Stack);  ///< "Cross attention: the target attends to the source"

private:
    void show_document();

    Document& document_;
    std::map<model::Stack, QToolButton*> buttons_;
};

}  // namespace headlight::ui
