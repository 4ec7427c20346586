// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include <filesystem>

namespace headlight::ui {

/// Keeps the window open when a mapped file is cut short: what is gone reads as zeros, and lost() says which file it was.
/// Jobs drops what was computed of them. One at a time.
class BusGuard : public QObject {
    Q_OBJECT
public:
    explicit BusGuard(QObject* parent = nullptr);
    ~BusGuard() override;

Q_SIGNALS:
    void lost(const QString& file);
};

}  // namespace headlight::ui
