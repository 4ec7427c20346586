// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/style/popover.h"

class QComboBox;
class QGridLayout;
class QPushButton;

namespace headlight::ui {

class TransferForm;

/// How a view looks: its own options but its subject, then how weights are prepared and drawn. Tab goes through the fields.
class OptionsPopover : public Popover {
    Q_OBJECT
public:
    explicit OptionsPopover(Document&, QWidget* parent = nullptr);

    /// Where the focus goes: to the first field, or to the scale of weights.
    enum class First { any, scale };
    void open_below(QWidget* button, const View&, First = First::any);
    /// The view has something here.
    static bool has_options(const View&);
    /// The field or box of one of the view's own options; of a choice the chosen word's button. Null: there is none.
    QWidget* field(const std::string& option) const;
    QPushButton& reset_button() { return *reset_; }

private:
    void build(const View&);
    void add_own(QGridLayout&, const figure::ViewOption&);
    QComboBox* measure_list(const figure::ViewOption&, const std::string& value);
    void add_weighting(QGridLayout&);
    void add_scale(QGridLayout&);
    void add_toggle(QGridLayout&, const QString& name, const QString& title, const QString& help,
                    bool analyze::PatternOptions::*);
    void reset();
    void add_choice(QGridLayout&, const QString& title, const std::vector<std::pair<QString, std::function<void()>>>&,
                    int chosen);
    void set_value(const std::string& option, const std::string& value);
    /// Options that change nothing, as the others are, cannot be edited.
    void show_relevant();

    Document& document_;
    View view_;
    QWidget *body_ = nullptr, *button_ = nullptr;
    TransferForm* scale_ = nullptr;
    QPushButton* reset_ = nullptr;
};

}  // namespace headlight::ui
