// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/run/run_fields.h"
#include "ui/style/form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>

#include <optional>
#include <vector>

namespace headlight::ui {

/// The texts to run, and the folder of the store.
struct CorpusOrder {
    QString texts, store;
    corpus::AskedOptions options;
    std::int64_t limit = 0;  ///< 0: all
    std::optional<corpus::StopAt> stop_at;
    double segment_minutes = 0.1;  ///< how often finished blocks are written and shown
};

/// The form for a corpus run: a file or a folder, the unit of a text, the results to gather, and the folder of the store.
class CorpusForm : public QDialog {
    Q_OBJECT
public:
    explicit CorpusForm(const QString& model, QWidget* parent = nullptr);

    CorpusOrder order() const;
    QLineEdit& texts() { return *texts_; }
    QLineEdit& store() { return *store_; }
    QPushButton& run_button() { return *run_; }
    QComboBox& stop_measure() { return *stop_measure_; }
    QDoubleSpinBox& stop_width() { return *stop_width_; }
    QCheckBox& measure(std::size_t index) { return *measures_.at(index); }

private:
    /// A row a field, and the dialog's own between them.
    struct Rows : Form<corpus::AskedOptions> {
        Rows() : Form({"measure"}) {}
        void insert(int at, const QString& title, QLayout* row);
        void insert(int at, const QString& title, QWidget* row) { insert_row(at, new QLabel(title), *row); }
        using FormRows::place_of;
    };
    void changed();

    Rows* rows_;
    QLineEdit *texts_, *store_;
    QComboBox* stop_measure_;
    QDoubleSpinBox* stop_width_;
    QSpinBox* limit_;
    std::vector<QCheckBox*> measures_;
    QLabel* problem_;
    QPushButton* run_;
    bool store_typed_ = false;  ///< typed by hand: the proposal no longer follows the texts
};

}  // namespace headlight::ui
