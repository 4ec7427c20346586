// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/autosave.h"

#include "headlight/base/facts_of.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QUuid>

namespace headlight::ui {

QString Autosave::default_folder() {
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/autosave");
}

QString Autosave::last_file() {
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/last.headlight");
}

namespace {

QString new_stem(const QString& folder) { return folder + '/' + QUuid::createUuid().toString(QUuid::WithoutBraces); }

QString copy_of(const QString& stem) { return stem + QStringLiteral(".headlight"); }

/// Of the window that writes this copy. A lock whose process is gone is free.
std::unique_ptr<QLockFile> lock_of(const QString& copy) {
    const QFileInfo info(copy);
    auto lock = std::make_unique<QLockFile>(info.path() + '/' + info.completeBaseName() + QStringLiteral(".lock"));
    lock->setStaleLockTime(0);
    return lock;
}

/// The new place in the folder "broken" beside it; empty: it stays where it is.
QString move_aside(const QFileInfo& copy) {
    const QString folder = copy.path() + QStringLiteral("/broken");
    QDir().mkpath(folder);
    const QString place = copy_of(folder + '/' + copy.completeBaseName());
    return QFile::rename(copy.filePath(), place) ? place : QString();
}

}  // namespace

Autosave::Autosave(QString folder, std::function<Session()> session, QObject* parent)
    : QObject(parent), folder_(std::move(folder)), file_(copy_of(new_stem(folder_))), session_(std::move(session)) {
    QDir().mkpath(folder_);
    lock_ = lock_of(file_);
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

std::vector<LostSession> Autosave::lost(const Moved& moved) {
    std::vector<LostSession> found;
    const auto files = QDir(folder_).entryInfoList({QStringLiteral("*.headlight")}, QDir::Files, QDir::Time);
    for (const QFileInfo& info : files) {
        if (info.filePath() == file_) continue;
        const auto lock = lock_of(info.filePath());
        if (!lock->tryLock(0)) continue;  // a window works on it, or this one has taken it
        try {
            found.push_back({info.filePath(), load_session(info.filePath().toStdString())});
        } catch (const std::exception& error) {
            const QString place = move_aside(info);
            if (!place.isEmpty() && moved) moved(place, facts_of(error));
        }
    }
    return found;
}

bool Autosave::take(const QString& file) {
    auto lock = lock_of(file);
    if (!lock->tryLock(0) || !QFile::exists(file)) return false;
    taken_ = file;
    taken_lock_ = std::move(lock);
    return true;
}

void Autosave::give_back() {
    taken_.clear();
    taken_lock_.reset();
}

void Autosave::settle() {
    if (taken_.isEmpty()) return;
    try {
        save_session(session_(), file_.toStdString());
    } catch (const std::exception& error) {
        qWarning("Autosave: %s", error.what());
        return;  // the lost one is the only copy
    }
    QFile::remove(taken_);
    give_back();
}

void Autosave::discard(const QString& file) {
    const auto lock = lock_of(file);
    if (lock->tryLock(0)) QFile::remove(file);
}

void Autosave::set_aside() { save_session(session_(), copy_of(new_stem(folder_)).toStdString()); }

}  // namespace headlight::ui
