// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/recipe.h"
#include "ui/document/document.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

namespace headlight::ui {

/// Format, size, looks of an export, with a preview of the file. Remembers the choices.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(Document&, Jobs&, Recipe, QSize screen_size, QWidget* parent = nullptr);

    QComboBox& format() { return *format_; }
    QComboBox& width_choice() { return *width_; }
    QLineEdit& file() { return *file_; }
    figure::ExportOptions options() const;
    /// Writes the file in a job; emits written() or shows the failure in the dialog.
    void write();

Q_SIGNALS:
    void written(const QString& file);

private:
    void build();
    void restore();
    void remember() const;
    void format_changed();
    void preview();
    bool is_picture() const;

    Document& document_;
    Jobs& jobs_;
    Recipe recipe_;
    figure::Selection selection_;
    QSize screen_size_;
    QLineEdit* file_;
    QComboBox *format_, *width_, *theme_, *scale_;
    QDoubleSpinBox* pixels_;
    QCheckBox *footer_, *transparent_;
    QLabel *picture_, *message_;
    QPushButton* write_;
};

}  // namespace headlight::ui
