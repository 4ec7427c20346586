// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QComboBox>
#include <QDialog>
#include <QLineEdit>
#include <QPlainTextEdit>

namespace headlight::ui {

/// What runs beside the document's text: another text or picture, another model, or both.
class CompareDialog : public QDialog {
    Q_OBJECT
public:
    CompareDialog(Document&, QWidget* parent);
    QPlainTextEdit& text() { return *text_; }
    QComboBox& model() { return *model_; }
    /// As the fields stand.
    OtherInput input() const;
    void accept() override;

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    void choose_folder();
    void choose_picture();

    Document& document_;
    QPlainTextEdit* text_;
    QLineEdit* pair_;
    QLineEdit* image_;
    QComboBox* model_;
};

}  // namespace headlight::ui
