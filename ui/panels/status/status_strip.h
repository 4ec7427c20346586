// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/document.h"

#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

namespace headlight::ui {

/// The bottom of the window: the newest job and its progress, what is under the pointer, notes, and the device.
class StatusStrip : public QWidget {
    Q_OBJECT
public:
    StatusStrip(Document&, Jobs&, QWidget* parent = nullptr);

    /// Describes what the pointer is over; empty: shows the state again.
    void point_at(const QString& tip);
    /// For a few seconds: "Copied".
    void say(const QString&);
    QString text() const { return text_->text(); }
    QStringList notes() const { return notes_; }
    void add_note(const QString&);
    /// Of the job that is shown; hidden while none is.
    QProgressBar& bar() { return *bar_; }
    QToolButton& cancel_button() { return *cancel_; }

private:
    void job_started(Jobs::Lane);
    void job_progressed(Jobs::Lane, const ProgressStep&);
    void job_finished(Jobs::Lane);
    void show_document(Document::Change);
    void show_job();
    void show_text();
    QString reference_text() const;

    Document& document_;
    Jobs& jobs_;
    QProgressBar* bar_;
    QLabel *text_, *machine_;
    QToolButton *cancel_, *notes_button_;
    struct Running {
        Jobs::Lane lane;
        QString doing;
        int done = 0, total = 0;  ///< total 0: not known
    };
    std::vector<Running> running_;  ///< oldest first; the last one is shown
    QString tip_, said_;
    QStringList notes_, own_notes_;
    QTimer appear_, said_timer_;
};

}  // namespace headlight::ui
