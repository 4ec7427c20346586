// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/fetch/fetch.h"
#include "ui/jobs/jobs.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

#include <functional>

namespace headlight::ui {

/// A download under way: its file, its progress, and a button that stops it. Hidden while nothing is fetched.
class FetchRow : public QWidget {
    Q_OBJECT
public:
    using Fetcher = std::function<fetch::Fetched(const std::string& reference, const CancelToken&, const Progress&)>;

    /// `fetcher`: fetch::fetch unless a test has its own.
    explicit FetchRow(Jobs&, Fetcher fetcher = {}, QWidget* parent = nullptr);
    /// Cancels; what has arrived is kept.
    ~FetchRow() override;

    bool busy() const { return jobs_.busy(Jobs::Lane::fetch); }
    /// Does nothing while another fetch is under way.
    void start(const QString& reference);
    void cancel();

    QProgressBar& bar() { return *bar_; }
    QPushButton& cancel_button() { return *cancel_button_; }

Q_SIGNALS:
    void fetched(const QString& reference, const QString& folder);
    void failed(const QString& message);
    void cancelled();

private:
    void show_step(const ProgressStep&);

    Jobs& jobs_;
    Fetcher fetcher_;
    QLabel* what_;
    QProgressBar* bar_;
    QPushButton* cancel_button_;
};

}  // namespace headlight::ui
