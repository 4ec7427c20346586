// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"
#include "ui/document/subject.h"
#include "ui/document/token_candidates.h"
#include "ui/panels/tools/ring_toggle.h"
#include "ui/style/popover.h"

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>

namespace headlight::ui {

class TokenField;

/// What a chip can be: a field and a list of candidates that narrows as one types. A click or Return takes one.
class SubjectPopover : public Popover {
    Q_OBJECT
public:
    SubjectPopover(Document&, Jobs&, QWidget* parent);

    void open_below(QWidget* chip, const View&, Subject);
    QLineEdit& field() { return *field_; }
    QListWidget& list() { return *list_; }
    QLabel& note() { return *note_; }
    RingToggle& lock() { return *lock_; }
    const TokenCandidates& candidates() const { return candidates_; }

protected:
    void hideEvent(QHideEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void build();
    void build_field(const QString& value);
    void fill();
    void add(const QString& text, const QString& right, const QString& value);
    void add_keys(const trace::Trace&);
    void add_tokens(const std::vector<text::TokenLabel>&, std::int64_t end);
    void narrow(const QString& typed);
    void take(const QString& value);
    void take_typed();

    Document& document_;
    TokenCandidates candidates_;
    View view_;
    Subject subject_ = Subject::at;
    QWidget* body_ = nullptr;
    QLineEdit* field_ = nullptr;
    TokenField* token_ = nullptr;  ///< of answer and contrast; it has the field
    QListWidget* list_ = nullptr;
    QLabel* note_ = nullptr;
    RingToggle* lock_ = nullptr;
};

}  // namespace headlight::ui
