// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/document/token_candidates.h"
#include "ui/style/popover.h"

class QComboBox;
class QGridLayout;

namespace headlight::ui {

/// The options of a view: its own, then how weights are prepared. Tab goes through the fields.
class OptionsPopover : public Popover {
    Q_OBJECT
public:
    OptionsPopover(Document&, Jobs&, QWidget* parent = nullptr);

    void open_below(QWidget* button, const View&);
    /// The field or box of one of the view's own options; of a choice the chosen word's button. Null: there is none.
    QWidget* field(const std::string& option) const;
    const TokenCandidates& candidates() const { return candidates_; }

protected:
    void hideEvent(QHideEvent*) override;

private:
    void build(const View&);
    void add_own(QGridLayout&, const figure::ViewOption&);
    QComboBox* measure_list(const figure::ViewOption&, const std::string& value);
    void add_weighting(QGridLayout&);
    void add_choice(QGridLayout&, const QString& title, const std::vector<std::pair<QString, std::function<void()>>>&,
                    int chosen);
    void set_value(const std::string& option, const std::string& value);
    /// Options that change nothing, as the others are, cannot be edited.
    void show_relevant();

    Document& document_;
    TokenCandidates candidates_;
    View view_;
    QWidget* body_ = nullptr;
};

}  // namespace headlight::ui
