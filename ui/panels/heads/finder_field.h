// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QCompleter>
#include <QLineEdit>
#include <QStandardItemModel>

namespace headlight::ui {

/// The field of the finder. Offers, while it is typed, how the expression may go on: measures by the titles that the Inspector
/// writes, tokens of the text, words of the language.
class FinderField : public QLineEdit {
    Q_OBJECT
public:
    explicit FinderField(Document&);

    /// What is offered now; empty: nothing.
    QStringList offered() const;
    /// The offer takes the place of what was typed of it.
    void take(const QString& offer);

protected:
    void keyPressEvent(QKeyEvent*) override;
    void focusOutEvent(QFocusEvent*) override;

private:
    void offer();

    Document& document_;
    QStandardItemModel offers_;
    QCompleter* completer_;
    int from_ = 0;  ///< where an offer begins in the text
};

}  // namespace headlight::ui
