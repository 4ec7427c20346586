// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/intervention/recipe/effects.h"
#include "ui/document/document.h"
#include "ui/panels/edits/edit_field.h"

#include <QCheckBox>
#include <QFrame>
#include <QLabel>
#include <QToolButton>

namespace headlight::ui {

inline constexpr int effect_width = 76, edit_button_width = 26;

/// What the effects of edits are changes of: the logit difference where the answer is watched against another token, else its
/// log-probability.
double watched_number(const intervention::Prediction&);
/// "+0.123", "0.000"
QString signed_text(double change);

/// One edit: a handle to drag it to another place, on or off, its words, what it does, and a button that removes it. Below them
/// why it has no part in the run, or what is remarkable about it.
class EditRow : public QFrame {
    Q_OBJECT
public:
    EditRow(Document&, std::size_t line, QWidget* parent = nullptr);

    void show_line();
    /// Null: not known (yet).
    void show_effect(const intervention::EditEffect*, const intervention::Prediction& unedited, bool pending);
    EditField& field() { return *field_; }
    QCheckBox& box() { return *box_; }
    QToolButton& remove_button() { return *remove_; }
    QLabel& message() { return *message_; }
    QLabel& alone() { return *alone_; }
    std::size_t line() const { return line_; }

Q_SIGNALS:
    /// The handle is dragged to this height of the parent; `dropped`: and let go there.
    void dragged(int y, bool dropped);

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    Document& document_;
    std::size_t line_;
    QLabel* handle_;
    QCheckBox* box_;
    EditField* field_;
    QLabel *alone_, *together_, *message_;
    QToolButton* remove_;
};

/// "Column 6 of …: expected …; Did you mean …?"
QString sentence_of(const ErrorFacts&);

}  // namespace headlight::ui
