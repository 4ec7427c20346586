// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QCompleter>
#include <QLineEdit>
#include <QStandardItemModel>

namespace headlight::ui {

/// How the words of an edit may go on behind what is typed: where the word under way begins, and whole words for it, each with
/// what it means. Heads, neurons and positions are those that are selected.
struct EditOffers {
    qsizetype from = 0;
    std::vector<std::pair<QString, QString>> words;
};
EditOffers offers_for_edit(const QString& typed, const Document&);

/// A line for the words of an edit, with completion.
class EditField : public QLineEdit {
    Q_OBJECT
public:
    explicit EditField(Document&, QWidget* parent = nullptr);
    /// Not as typed by hand.
    void set_words(const QString&);
    QStringList offered() const;

protected:
    void keyPressEvent(QKeyEvent*) override;
    void focusOutEvent(QFocusEvent*) override;

private:
    void offer();
    void take(const QString&);
    void show_beginning();

    Document& document_;
    QStandardItemModel offers_;
    QCompleter* completer_;
    qsizetype from_ = 0;
};

}  // namespace headlight::ui
