// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QUndoStack>

namespace headlight::ui {

/// Undo and redo over everything a State holds. It watches the document instead of being called by every widget, so
/// that nothing can be changed without a step. Steps of one kind in quick succession (typing, a slider) are one. Steps are
/// limited in number, and by the memory of their texts.
class History : public QObject {
    Q_OBJECT
public:
    explicit History(Document&, QObject* parent = nullptr);
    QUndoStack& stack() { return stack_; }
    void clear();
    /// Edits that follow each other sooner than this are one step.
    void set_merging(qint64 ms) { merging_ms_ = ms; }

private:
    void look();
    void absorb();
    void forget_old_texts();
    class StateStep* last_step() const;

    Document& document_;
    QUndoStack stack_;
    State last_;
    bool restoring_ = false;
    qint64 merging_ms_ = 700;
    friend class StateStep;
};

}  // namespace headlight::ui
