// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/fetch/fetch.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QThread>
#include <QWidget>

#include <functional>
#include <memory>

namespace headlight::ui {

/// A download under way: what comes, how far it is, and a button that ends it. Hidden while nothing is fetched. It has a
/// thread of its own, because it may take an hour and no figure should wait for it.
class FetchRow : public QWidget {
    Q_OBJECT
public:
    using Fetcher = std::function<fetch::Fetched(const std::string& reference, const CancelToken&, const Progress&)>;

    /// `fetcher`: fetch::fetch unless a test has its own.
    explicit FetchRow(Fetcher fetcher = {}, QWidget* parent = nullptr);
    /// Cancels; what came so far is kept.
    ~FetchRow() override;

    bool busy() const { return thread_ != nullptr; }
    /// Nothing while another one is under way.
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
    void end();

    Fetcher fetcher_;
    CancelToken token_;
    QThread* thread_ = nullptr;
    QLabel* what_;
    QProgressBar* bar_;
    QPushButton* cancel_button_;
};

}  // namespace headlight::ui
