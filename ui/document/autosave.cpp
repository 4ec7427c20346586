// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/autosave.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QStandardPaths>
#include <QUuid>

namespace headlight::ui {

QString Autosave::default_folder() {
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/autosave");
}

QString Autosave::last_file() {
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/last.headlight");
}

Autosave::Autosave(QString folder, std::function<Session()> session, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), session_(std::move(session)) {
    QDir().mkpath(folder_);
    const QString stem = folder_ + '/' + QUuid::createUuid().toString(QUuid::WithoutBraces);
    file_ = stem + QStringLiteral(".headlight");
    lock_ = std::make_unique<QLockFile>(stem + QStringLiteral(".lock"));
    lock_->setStaleLockTime(0);
    lock_->tryLock(0);
    timer_.setSingleShot(true);
    timer_.setInterval(1500);
    connect(&timer_, &QTimer::timeout, this, &Autosave::save_now);
}

Autosave::~Autosave() { QFile::remove(file_); }

void Autosave::save_now() {
    timer_.stop();
    try {
        save_session(session_(), file_.toStdString());
    } catch (const std::exception& error) {
        qWarning("Autosave: %s", error.what());  // a full disk must not stop the work
    }
}

std::optional<Session> Autosave::take_lost() {
    std::optional<Session> found;
    const auto files = QDir(folder_).entryInfoList({QStringLiteral("*.headlight")}, QDir::Files, QDir::Time);
    for (const QFileInfo& info : files) {
        if (info.absoluteFilePath() == QFileInfo(file_).absoluteFilePath()) continue;
        QLockFile lock(info.path() + '/' + info.completeBaseName() + QStringLiteral(".lock"));
        lock.setStaleLockTime(0);
        if (!lock.tryLock(0)) continue;  // another window works on it
        try {
            if (!found) found = load_session(info.absoluteFilePath().toStdString());
        } catch (const std::exception& error) {
            qWarning("Autosave: %s", error.what());
        }
        QFile::remove(info.absoluteFilePath());
    }
    return found;
}

}  // namespace headlight::ui
