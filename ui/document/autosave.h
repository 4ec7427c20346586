// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/document/session.h"

#include <QLockFile>
#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>

namespace headlight::ui {

/// Nothing typed is lost at a crash: a copy of the session a moment after every change, removed at a clean end. Each
/// running window holds a lock beside its copy; a copy whose lock is free was left by a crash.
class Autosave : public QObject {
    Q_OBJECT
public:
    Autosave(QString folder, std::function<Session()> session, QObject* parent = nullptr);
    ~Autosave() override;

    /// The session of a window that ended unexpectedly, taken over by this one.
    std::optional<Session> take_lost();
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
    QTimer timer_;
};

}  // namespace headlight::ui
