// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/panels/inspector/number_row.h"

#include <QWidget>

class QLabel;
class QVBoxLayout;

namespace headlight::ui {

/// Numbers of a run below each other, with rules and notes between them; of two runs in columns A, B and B − A.
class NumberRows : public QWidget {
public:
    /// In A and in B; NaN: not there.
    struct Numbers {
        double a = 0, b = 0;
    };

    explicit NumberRows(QWidget* parent = nullptr);

    /// Empties the list; `compares`: what is added has columns.
    void start(bool compares);
    NumberRow* add_text(const QString& name, const QString& shown, const QString& exact);
    NumberRow* add(const QString& name, Numbers, const QString& definition, QString (*text)(double) = number_text);
    /// A widget of the caller, which the list takes.
    void add(QWidget*);
    void add_rule();
    QLabel* add_note(const QString& text, int weight = 400);
    /// After the last row: makes columns as wide as their widest number.
    void end();
    /// Null: there is none of this name.
    NumberRow* row(const QString& name) const;

private:
    QVBoxLayout* layout_;
    bool compares_ = false;
};

}  // namespace headlight::ui
