// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/document/token_candidates.h"
#include "ui/style/popover.h"
#include "ui/style/token_field.h"

#include <QPointer>
#include <QRadioButton>

namespace headlight::ui {

/// Which answer the effects of the edits are on: a token, and where it is read.
class WatchPopover : public Popover {
    Q_OBJECT
public:
    WatchPopover(Document&, Jobs&, QWidget* parent = nullptr);
    /// `end`: where the answer is read by default.
    void open_below(QWidget* button, Position end);
    TokenField* field() { return field_; }
    TokenField* against() { return against_; }

protected:
    void hideEvent(QHideEvent*) override;

private:
    void edit(const std::function<void(EditList&)>&);

    Document& document_;
    TokenCandidates candidates_;
    QWidget* place_;
    QPointer<TokenField> field_, against_;
    QRadioButton *at_end_, *at_query_;
    Position query_{};
};

}  // namespace headlight::ui
