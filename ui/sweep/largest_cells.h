// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/sweep/sweep_figure.h"
#include "ui/document/document.h"
#include "ui/panels/inspector/number_rows.h"

#include <QLabel>
#include <QPushButton>
#include <QStandardItemModel>
#include <QTableView>

#include <optional>

namespace headlight::ui {

/// What a sweep has found, beside its figure: the cells with the largest effects, the chosen one in words, and the metric of the
/// runs.
class LargestCells : public QWidget {
    Q_OBJECT
public:
    static constexpr std::size_t most = 10;

    explicit LargestCells(Document&, QWidget* parent = nullptr);

    /// `edit`: the words of the chosen cell's edit, or why it has none; `for_text`: it is one of the window's text.
    struct Chosen {
        std::size_t cell = 0;
        QString edit;
        bool can_edit = false, for_text = false;
    };
    void show(const figure::SweepPtr&, const std::optional<Chosen>&);

    QTableView& list() { return *list_; }
    QLabel& title() { return *title_; }
    QLabel& rest() { return *rest_; }
    QLabel& story() { return *story_; }
    NumberRows& runs() { return *runs_; }
    QPushButton& edit_button() { return *edit_; }
    QPushButton& text_button() { return *in_text_; }

Q_SIGNALS:
    void cell_chosen(std::size_t cell);
    void edit_asked();
    void text_asked();

private:
    void fill(const intervention::SweepResult&);
    void show_runs(const intervention::SweepResult&, const std::optional<Chosen>&);

    figure::SweepPtr result_;
    std::vector<std::size_t> order_;  ///< [row] the cell
    bool filling_ = false;
    QStandardItemModel* model_;
    QTableView* list_;
    QLabel *title_, *rest_, *chosen_title_, *story_, *edit_words_;
    QWidget* chosen_;
    NumberRows* runs_;
    QPushButton *edit_, *in_text_;
};

}  // namespace headlight::ui
