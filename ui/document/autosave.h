// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/session.h"

#include <QLockFile>
#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <vector>

namespace headlight::ui {

/// A session of a window that ended unexpectedly.
struct LostSession {
    QString file;  ///< the copy
    Session session;
};

/// Nothing typed is lost at a crash: a copy of the session a moment after every change, removed at a clean end. Each
/// running window holds a lock beside its copy; a copy whose lock is free was left by a crash, and stays until a window shows
/// what it holds.
class Autosave : public QObject {
    Q_OBJECT
public:
    Autosave(QString folder, std::function<Session()> session, QObject* parent = nullptr);
    ~Autosave() override;

    /// Called with the new place of a copy that cannot be read, and the reason.
    using Moved = std::function<void(const QString& file, const ErrorFacts&)>;
    /// What windows left that ended unexpectedly, newest first. A copy that cannot be read is moved to the folder "broken".
    std::vector<LostSession> lost(const Moved&);
    /// Locks a lost session for this window, which is to show it; false: another window has it, or it is gone. The copy stays.
    bool take(const QString& file);
    /// This window does not show it after all.
    void give_back();
    /// The window shows what it took: its own copy replaces the one that was lost.
    void settle();
    /// Keeps what the window shows as a lost session, so that another one can take its place. Error as save_session().
    void set_aside();
    /// Removes a lost session, unless another window has it.
    void discard(const QString& file);

    void changed() { timer_.start(); }
    void save_now();
    QString file() const { return file_; }

    static QString default_folder();
    /// The session of the last window that was closed without a file of its own.
    static QString last_file();

private:
    QString folder_, file_;
    std::function<Session()> session_;
    std::unique_ptr<QLockFile> lock_;
    QString taken_;                          ///< the copy of a lost session that this window is to show
    std::unique_ptr<QLockFile> taken_lock_;  ///< its lock
    QTimer timer_;
};

}  // namespace headlight::ui
