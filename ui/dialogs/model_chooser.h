// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/peek.h"
#include "ui/dialogs/fetch_row.h"
#include "ui/jobs/jobs.h"

#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStringList>
#include <QTableWidget>

#include <vector>

namespace headlight::ui {

/// The models there are: built-in, opened before, in the Hugging Face cache, in folders that were added, and those that
/// can be fetched by their ids. Each with its family, size, layers and heads, and whether it can be read or why not; what is
/// known of a model arrives one by one.
class ModelChooser : public QDialog {
    Q_OBJECT
public:
    /// `recent`: references that were opened before, newest first. `fetcher`: as for FetchRow.
    ModelChooser(Jobs&, QStringList recent, QWidget* parent = nullptr, FetchRow::Fetcher fetcher = {});
    ~ModelChooser() override;

    QTableWidget& table() { return *table_; }
    QLineEdit& filter() { return *filter_; }
    FetchRow& fetch_row() { return *fetching_; }
    QPushButton& fetch_button() { return *fetch_; }
    QString note() const { return note_->text(); }
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
    void fetch_typed();
    void show_fetched(const QString& reference, const QString& folder);

    Jobs& jobs_;
    QStringList recent_;
    std::vector<Row> rows_;
    QLineEdit* filter_;
    QTableWidget* table_;
    QLabel* note_;
    FetchRow* fetching_;
    QPushButton *open_ = nullptr, *fetch_ = nullptr;
};

}  // namespace headlight::ui
