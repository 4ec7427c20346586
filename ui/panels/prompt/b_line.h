// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/panels/prompt/prompt_edit.h"

#include <QFrame>
#include <QLabel>
#include <QMenu>
#include <QTimer>
#include <QToolButton>

namespace headlight::ui {

/// The line of B, below A's: its text, what differs from A, and × to end the comparison. It is there while something is compared.
class BLine : public QFrame {
    Q_OBJECT
public:
    explicit BLine(Document&, QWidget* parent = nullptr);

    /// Begins a comparison with A's own text, to be changed; the caret goes into the line.
    void begin();
    PromptEdit& text() { return *text_; }
    /// Second sentence, or target.
    PromptEdit& pair() { return *pair_; }
    QToolButton& picture_button() { return *picture_; }
    /// "text: 1 of 12 tokens differs", and the list of models that B can be of.
    QLabel& differs() { return *differs_; }
    QToolButton& model_button() { return *model_; }
    QToolButton& end_button() { return *end_; }
    /// B as it is typed, now.
    void take_typed();

Q_SIGNALS:
    void end_asked();
    void edits_asked();

private:
    void show_document();
    void fill_models();
    void set_model(const QString& reference);
    void choose_picture();
    QString text_words() const;

    Document& document_;
    PromptEdit *text_, *pair_;
    QToolButton *picture_, *model_, *edits_, *end_;
    QLabel* differs_;
    QMenu* models_;
    QTimer typing_;
};

}  // namespace headlight::ui
