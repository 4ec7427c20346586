// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace headlight::ui {

/// A heading that folds what stands below it; a number or a few words may stand at its right. Whether it is folded is a setting
/// of the user, by the section's name.
class Section : public QWidget {
    Q_OBJECT
public:
    /// `name`: of the setting.
    Section(const QString& title, const QString& name, QWidget* content, QWidget* parent = nullptr);

    void set_note(const QString&);
    bool folded() const { return folded_; }
    void set_folded(bool);
    QPushButton& heading() { return *heading_; }

Q_SIGNALS:
    void fold_changed(bool folded);

private:
    void show_fold();

    QString setting_;
    QPushButton* heading_;
    QLabel* note_;
    QWidget* content_;
    bool folded_ = false;
};

}  // namespace headlight::ui
