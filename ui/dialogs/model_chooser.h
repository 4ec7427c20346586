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

/// Lists the models there are: built-in, recent, in the Hugging Face cache and in added folders; others can be fetched by
/// id. Each row has the family, the size, layers and heads, and whether the model can be read or why not. Jobs find the
/// models and read what they are.
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
    /// Lists the models of a folder and remembers it.
    void add_folder(const QString& folder);

Q_SIGNALS:
    void chosen(const QString& reference);

private:
    struct Row {
        QString reference, where;
        std::filesystem::path path;  ///< canonical
        bool peeked = false;
        model::Peek peek;
    };
    using Rows = std::vector<Row>;
    static Rows models_at(const QStringList& recent, const QStringList& folders, const CancelToken&);
    void build();
    void collect(const QString& added = {});
    void add_rows(Rows);
    void peek_next();
    void show_row(int row);
    void show_note();
    void apply_filter();
    void accept_current();
    void fetch_typed();
    void show_fetched(const QString& reference, const QString& folder);

    Jobs& jobs_;
    QStringList recent_;
    Rows rows_;
    QLineEdit* filter_;
    QTableWidget* table_;
    QLabel* note_;
    FetchRow* fetching_;
    QPushButton *open_ = nullptr, *fetch_ = nullptr;
};

}  // namespace headlight::ui
