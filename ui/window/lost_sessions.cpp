// SPDX-License-Identifier: GPL-3.0-or-later
// Sessions of windows that ended unexpectedly: one is shown at a start without arguments, the others wait in a menu.
#include "ui/window/main_window.h"

#include "headlight/base/facts_of.h"

#include <QFileInfo>
#include <QLocale>
#include <QMenu>

namespace headlight::ui {

std::vector<LostSession> MainWindow::lost_sessions() {
    return autosave_->lost([this](const QString& file, const ErrorFacts& why) {
        status_->add_note(QStringLiteral("A session that ended unexpectedly cannot be read and was moved to %1: %2")
                              .arg(file, QString::fromStdString(Error(why).what())));
    });
}

bool MainWindow::restore_lost() {
    for (const LostSession& lost : lost_sessions()) {
        if (!autosave_->take(lost.file)) continue;  // another window was faster
        show_lost(lost.session);
        return true;
    }
    return false;
}

void MainWindow::show_lost(const Session& session) {
    apply_session(session);
    document_->set_file({});
    recovered_ = true;
    recovering_ = session.model;
    status_->add_note(QStringLiteral("Restored what was open when Headlight ended unexpectedly"));
    keep_recovered();
}

/// In the place of what the window shows, which becomes one of them unless it is nothing of the user's.
void MainWindow::open_lost(const LostSession& lost) {
    if (!autosave_->take(lost.file)) {
        status_->say(QStringLiteral("Another window has opened this session"));
    } else {
        try {
            if (recovered_ || history_->stack().canUndo()) autosave_->set_aside();
            show_lost(lost.session);
        } catch (const std::exception& error) {
            autosave_->give_back();
            show_failure({QStringLiteral("Keeping what is open"), facts_of(error)});
        }
    }
    offer_lost();
}

/// A lost session is the window's own once its model has run its text, or there is none: its selection waits for that.
void MainWindow::keep_recovered() {
    const bool shown = document_->up_to_date() || !document_->has_input();
    if (recovering_.isEmpty() || document_->opening() || document_->model().reference != recovering_ || !shown) return;
    recovering_.clear();
    autosave_->settle();
}

bool MainWindow::offer_lost() {
    const std::vector<LostSession> lost = lost_sessions();
    lost_->clear();
    lost_->menuAction()->setVisible(!lost.empty());
    if (lost.empty()) return false;
    for (const LostSession& each : lost)
        lost_->addAction(QStringLiteral("%1, %2").arg(
                             caption_of(each.session).replace('&', QStringLiteral("&&")),
                             QLocale::c().toString(QFileInfo(each.file).lastModified(), QStringLiteral("d MMM HH:mm"))),
                         this, [this, each] { open_lost(each); });
    lost_->addSeparator();
    lost_->addAction(QStringLiteral("Discard these sessions"), this, [this, lost] {
        for (const LostSession& each : lost) autosave_->discard(each.file);
        notice_->hide();
        offer_lost();
    });
    const bool one = lost.size() == 1;
    notice_->offer(one ? QStringLiteral("Headlight ended unexpectedly with %1").arg(caption_of(lost.front().session))
                       : QStringLiteral("%1 sessions ended unexpectedly").arg(lost.size()),
                   one ? QStringLiteral("Open it") : QStringLiteral("Choose one …"), [this, one, first = lost.front()] {
                       if (one) return open_lost(first);
                       lost_->popup(left_->mapToGlobal(QPoint(0, 0)));
                   });
    return true;
}

}  // namespace headlight::ui
