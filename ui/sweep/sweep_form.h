// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/request_fields.h"
#include "ui/document/open_model.h"
#include "ui/style/form.h"
#include "ui/style/token_field.h"

#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>

class QMenu;

namespace headlight::ui {

/// What a sweep goes over, as fields: texts, answers, the edit and its sites, the metric. Texts that nobody has typed here are
/// those of the window.
class SweepForm : public Form<intervention::SweepRequest> {
    Q_OBJECT
public:
    explicit SweepForm(Jobs&, QWidget* parent = nullptr);

    /// Errors: a list of layers or heads that cannot be read.
    intervention::SweepRequest request() const { return asked(Lists::checked); }
    void set_request(const intervention::SweepRequest&);
    /// request() for sessions and undo: without the texts of the window. Lists that cannot be read are left out.
    intervention::SweepRequest own_request() const;
    /// The window's texts; each field follows its own until it is edited.
    void follow_texts(const QString& clean, const QString& corrupt, const QString& target);
    /// Fields that this model needs.
    void fit(const OpenModel&);
    /// The tokens that an empty field stands for, and those that the typed texts are.
    void show_answers(const QString& answers, const QString& wrong);
    /// Probabilities of every token where the right answer is read, and the wrong one; empty: not known yet.
    void offer_tokens(const std::vector<double>& right, const std::vector<double>& other);

    QPlainTextEdit& clean() { return *clean_; }
    QPlainTextEdit& corrupt() { return *corrupt_; }
    QPushButton& choose_pairs() { return *choose_pairs_; }
    QLineEdit& answer() { return answer_->line(); }
    QLineEdit& wrong() { return wrong_->line(); }
    TokenField& answer_field() { return *answer_; }
    QComboBox& edit() { return *edit_; }
    /// Shows the fields that a first sweep does not need, or folds them again.
    QPushButton& more() { return *more_; }
    QLineEdit& over() { return *over_; }
    QComboBox& choice(std::string_view name) { return static_cast<QComboBox&>(*row(name)); }
    QLineEdit& line(std::string_view name) { return static_cast<QLineEdit&>(*row(name)); }
    QSpinBox& count(std::string_view name) { return static_cast<QSpinBox&>(*row(name)); }

protected:
    bool eventFilter(QObject*, QEvent*) override;
    void put_own(const intervention::SweepRequest&) override;
    void take_own(intervention::SweepRequest&) const override;
    void show_own(const intervention::SweepRequest&) override;

private:
    void build();
    void say_more();
    void offer_pairs(QMenu&);
    void take_pairs(const QString&);
    void ask_for_pairs();
    void ask_for_texts();

    TokenCandidates right_, other_;  ///< where the answers are read
    QPlainTextEdit *clean_, *corrupt_;
    TokenField *answer_, *wrong_;
    QLineEdit* over_;
    QComboBox* edit_;
    QLabel *clean_label_, *corrupt_label_, *pairs_label_;
    QPushButton *choose_pairs_, *leave_pairs_, *more_;
    QWidget *texts_, *files_, *over_row_;
    QString pairs_, followed_clean_, followed_corrupt_, followed_target_;
    bool pictures_ = false;
    OpenModel opened_;
};

}  // namespace headlight::ui
