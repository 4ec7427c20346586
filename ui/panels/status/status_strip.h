// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

namespace headlight::ui {

/// The bottom of the window: what is going on and how far, what is under the pointer, notes, and on what it is computed.
class StatusStrip : public QWidget {
    Q_OBJECT
public:
    StatusStrip(Document&, Jobs&, QWidget* parent = nullptr);

    /// What the pointer is over; empty: the state again.
    void point_at(const QString& tip);
    /// For a few seconds: "Copied".
    void say(const QString&);
    QString text() const { return text_->text(); }
    QStringList notes() const { return notes_; }
    void add_note(const QString&);

private:
    void job_started(Jobs::Lane);
    void job_progressed(Jobs::Lane, const QString& what, int done, int total);
    void job_finished(Jobs::Lane);
    void show_document(Document::Change);
    void show_text();
    QString reference_text() const;

    Document& document_;
    Jobs& jobs_;
    QProgressBar* bar_;
    QLabel *text_, *machine_;
    QToolButton *cancel_, *notes_button_;
    std::optional<Jobs::Lane> lane_;
    QString doing_, tip_, said_;
    QStringList notes_, own_notes_;
    QTimer appear_, said_timer_;
};

}  // namespace headlight::ui
