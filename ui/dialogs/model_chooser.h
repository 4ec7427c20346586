// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/peek.h"
#include "ui/jobs/jobs.h"

#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStringList>
#include <QTableWidget>

#include <vector>

namespace headlight::ui {

/// The models there are: built-in, opened before, in the Hugging Face cache, in folders that were added. Each with its
/// family, size, layers and heads, and whether it can be read or why not; what is known of a model arrives one by one.
class ModelChooser : public QDialog {
    Q_OBJECT
public:
    /// `recent`: references that were opened before, newest first.
    ModelChooser(Jobs&, QStringList recent, QWidget* parent = nullptr);
    ~ModelChooser() override;

    QTableWidget& table() { return *table_; }
    QLineEdit& filter() { return *filter_; }
    /// Looks through a folder for models and remembers it.
    void add_folder(const QString& folder);

Q_SIGNALS:
    void chosen(const QString& reference);

private:
    struct Row {
        QString reference, where;
        std::filesystem::path path;
        bool looked = false;
        model::Peek peek;
    };
    void build();
    void collect();
    void add_row(const QString& reference, const QString& where, const std::filesystem::path& path);
    void look_at_next();
    void show_row(int row);
    void show_note();
    void apply_filter();
    void accept_current();

    Jobs& jobs_;
    QStringList recent_;
    std::vector<Row> rows_;
    QLineEdit* filter_;
    QTableWidget* table_;
    QLabel* note_;
    QPushButton* open_ = nullptr;
};

}  // namespace headlight::ui
