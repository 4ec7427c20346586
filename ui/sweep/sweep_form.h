// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/sweep/pairs.h"
#include "ui/document/open_model.h"
#include "ui/style/token_field.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>

#include <set>

class QMenu;

namespace headlight::ui {

/// What a sweep goes over, as fields: texts, answers, the edit and its sites, the metric. Texts that nobody has typed here are
/// those of the window.
class SweepForm : public QWidget {
    Q_OBJECT
public:
    explicit SweepForm(Jobs&, QWidget* parent = nullptr);

    /// Errors: a list of layers or heads that cannot be read.
    intervention::SweepRequest request() const;
    void set_request(const intervention::SweepRequest&);
    /// request() for sessions and undo: without the texts of the window. Lists that cannot be read are left out.
    intervention::SweepRequest own_request() const;
    /// The window's texts; each field follows its own until it is edited.
    void follow(const QString& clean, const QString& corrupt, const QString& target);
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
    TokenField& wrong_field() { return *wrong_; }
    QComboBox& edit() { return *edit_; }
    QComboBox& site() { return *site_; }
    QComboBox& metric() { return *metric_; }
    QComboBox& method() { return *method_; }
    QLineEdit& position() { return *position_; }
    QLineEdit& layers() { return *layers_; }
    QLineEdit& heads() { return *heads_; }
    QLineEdit& to() { return *to_; }
    QSpinBox& window_size() { return *window_; }
    QComboBox& effect() { return *effect_; }
    QLineEdit& places() { return *places_; }
    QComboBox& attention() { return *attention_; }
    QLineEdit& noise() { return *noise_; }
    QDoubleSpinBox& noise_scale() { return *noise_scale_; }
    QSpinBox& noise_draws() { return *noise_draws_; }
    QLineEdit& over() { return *over_; }

Q_SIGNALS:
    void changed();

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    enum class Lists { checked, readable };
    intervention::SweepRequest request(Lists) const;
    void show_fields();
    /// Whether the field is asked for, whatever is on screen.
    bool used(const QWidget* field) const { return !unused_.contains(field); }
    void offer_pairs(QMenu&);
    void take_pairs(const QString&);
    void ask_for_pairs();
    void ask_for_texts();
    bool patches() const;
    bool noised() const { return used(noise_) && !noise_->text().trimmed().isEmpty(); }

    TokenCandidates right_, other_;  ///< where the answers are read
    QFormLayout* form_;
    QPlainTextEdit *clean_, *corrupt_;
    QLineEdit* target_;
    TokenField *answer_, *wrong_;
    QLineEdit *position_, *places_, *layers_, *heads_, *to_, *noise_, *over_;
    QComboBox *edit_, *site_, *metric_, *method_, *attention_, *effect_;
    QSpinBox *window_, *noise_draws_, *donors_, *resamples_, *seed_;
    QDoubleSpinBox* noise_scale_;
    QCheckBox *by_name_, *per_position_;
    QLabel *clean_label_, *corrupt_label_, *pairs_label_;
    QPushButton *choose_pairs_, *leave_pairs_, *choose_texts_;
    QWidget *texts_, *over_row_;
    QString pairs_, followed_clean_, followed_corrupt_, followed_target_;
    intervention::SweepRequest kept_;  ///< what no person chooses: memory, the level of intervals
    std::set<const QWidget*> unused_;
    bool has_target_ = false, pictures_ = false;
    OpenModel opened_;
};

}  // namespace headlight::ui
