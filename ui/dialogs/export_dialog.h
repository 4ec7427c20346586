// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/recipe.h"
#include "ui/document/document.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QStackedWidget>

namespace headlight::ui {

/// Format, size, looks of an export, with a preview of the file. Remembers the choices. A file that is there already is
/// replaced only after a question, and the name that is proposed is a new one.
class ExportDialog : public QDialog {
    Q_OBJECT
public:
    ExportDialog(Document&, Jobs&, Exportable, QSize screen_size, QWidget* parent = nullptr);
    /// Of a view of the document, with its selection.
    ExportDialog(Document&, Jobs&, const Recipe&, QSize screen_size, QWidget* parent = nullptr);

    QComboBox& format() { return *format_; }
    QComboBox& width_choice() { return *width_; }
    /// A name in the folder that is shown below it, or a path.
    QLineEdit& file() { return *file_; }
    QString path() const;
    /// "Smallest type 5.7 pt", with the width that would make it larger behind it.
    QLabel& type_note() { return *type_note_; }
    QPushButton& widen() { return *widen_; }
    QPlainTextEdit& data_preview() { return *data_; }
    figure::ExportOptions options() const;
    /// Writes the file in a job, after a question when there is one of this name; emits written() or shows the failure in
    /// the dialog.
    void write();
    /// Ends an export or a preview that is under way.
    void done(int result) override;

Q_SIGNALS:
    void written(const QString& file);

private:
    void build();
    void restore();
    void remember() const;
    void format_changed();
    void preview();
    void preview_picture();
    void preview_data();
    void propose_name();
    void show_folder();
    void write_now();
    figure::Format format_now() const;

    Document& document_;
    Jobs& jobs_;
    Exportable what_;
    QSize screen_size_;
    QLineEdit* file_;
    QString proposed_;  ///< the name, until a person edits it
    QString folder_;
    QComboBox *format_, *width_, *theme_, *scale_;
    QDoubleSpinBox *pixels_, *millimetres_;
    QCheckBox *footer_, *transparent_;
    QStackedWidget* shown_;
    QPlainTextEdit* data_;
    QLabel *picture_, *message_, *folder_label_, *type_note_;
    QFormLayout* form_;
    QHBoxLayout* type_row_;
    QPushButton *write_, *widen_;
};

}  // namespace headlight::ui
