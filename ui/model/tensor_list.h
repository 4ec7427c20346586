// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/canvas/figure_canvas.h"
#include "ui/document/document.h"

#include <QLineEdit>
#include <QTableWidget>
#include <QWidget>

namespace headlight::ui {

/// Every tensor of the model's files, used or not: name, what it feeds, shape, type, file. Has a filter over
/// all columns, and the histogram of the chosen tensor, computed in a job.
class TensorList : public QWidget {
    Q_OBJECT
public:
    TensorList(const OpenModel&, Jobs&, QWidget* parent = nullptr);
    ~TensorList() override;

    QTableWidget& table() { return *table_; }
    QLineEdit& filter() { return *filter_; }
    FigureCanvas& histogram() { return *histogram_; }

private:
    void show_histogram();
    void restyle();

    const OpenModel model_;
    Jobs& jobs_;
    SelectionModel selection_;  ///< nothing in a histogram can be selected
    QLineEdit* filter_;
    QTableWidget* table_;
    FigureCanvas* histogram_;
    QString asked_;  ///< the tensor whose histogram is shown or being computed
};

}  // namespace headlight::ui
