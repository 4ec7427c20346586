// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/subject.h"
#include "ui/panels/tools/subject_popover.h"

#include <QToolButton>
#include <QWidget>

#include <map>

namespace headlight::ui {

/// "at ·to (13) ×  answer ·Mary ×": what a view is about, the same chips in every view that has them. A click lists what it can
/// be, × takes it back; ← and → go from chip to chip, Delete clears.
class SubjectChips : public QWidget {
    Q_OBJECT
public:
    SubjectChips(Document&, Jobs&, QWidget* parent = nullptr);

    void set_view(const View&);
    /// Without "at" and "to" in front, where the room is small.
    void set_compact(bool);
    bool empty() const { return shown_.empty(); }
    const std::vector<Subject>& shown() const { return shown_; }
    QToolButton& chip(Subject subject) { return *chips_.at(subject).body; }
    QToolButton& clear_button(Subject subject) { return *chips_.at(subject).clear; }
    SubjectPopover& popover() { return *popover_; }
    void focus_first();
    void open(Subject);

Q_SIGNALS:
    /// The chips have other widths.
    void resized();

protected:
    bool eventFilter(QObject*, QEvent*) override;

private:
    struct Chip {
        QFrame* frame;
        QToolButton *body, *clear;
    };
    struct Words {
        QString value;     ///< "·old (12)"
        bool set = false;  ///< × has something to take back
    };
    Words words_of(Subject) const;
    QString token_label(const std::vector<text::TokenLabel>&, Position) const;
    void clear(Subject);
    void show_document();
    void step_from(QObject* chip, int by);

    Document& document_;
    TokenCandidates reading_;  ///< labels of chosen tokens, without probabilities
    SubjectPopover* popover_;
    View view_ = figure::view_id(0);
    bool compact_ = false;
    std::vector<Subject> shown_;
    std::map<Subject, Chip> chips_;
};

}  // namespace headlight::ui
