// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/fetch_row.h"

#include <QHBoxLayout>
#include <QLocale>

namespace headlight::ui {

FetchRow::FetchRow(Fetcher fetcher, QWidget* parent)
    : QWidget(parent),
      fetcher_(std::move(fetcher)),
      what_(new QLabel),
      bar_(new QProgressBar),
      cancel_button_(new QPushButton(tr("Stop"))) {
    if (!fetcher_)
        fetcher_ = [](const std::string& reference, const CancelToken& token, const Progress& progress) {
            return fetch::fetch(reference, {}, token, progress);
        };
    setObjectName(QStringLiteral("FetchRow"));
    bar_->setTextVisible(false);
    bar_->setAccessibleName(tr("How much has been fetched"));
    cancel_button_->setAutoDefault(false);
    cancel_button_->setToolTip(tr("Stop; what has come is kept, and fetching again goes on from there"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(what_);
    row->addWidget(bar_, 1);
    row->addWidget(cancel_button_);
    connect(cancel_button_, &QPushButton::clicked, this, &FetchRow::cancel);
    hide();
}

FetchRow::~FetchRow() {
    if (!thread_) return;
    token_.cancel();
    thread_->wait();
}

void FetchRow::start(const QString& reference) {
    if (busy()) return;
    token_ = CancelToken();
    what_->setText(tr("Fetching %1 …").arg(reference));
    bar_->setRange(0, 0);
    cancel_button_->setEnabled(true);
    show();
    thread_ = QThread::create([this, reference, token = token_, work = fetcher_] {
        const auto in_window = [this](auto&& what) { QMetaObject::invokeMethod(this, std::move(what), Qt::QueuedConnection); };
        try {
            const fetch::Fetched got = work(reference.toStdString(), token,
                                            [&](const ProgressStep& step) { in_window([this, step] { show_step(step); }); });
            in_window([this, got] {
                end();
                Q_EMIT fetched(QString::fromStdString(got.reference), QString::fromStdString(got.folder.string()));
            });
        } catch (const Cancelled&) {
            in_window([this] {
                end();
                Q_EMIT cancelled();
            });
        } catch (const std::exception& error) {
            in_window([this, message = QString::fromUtf8(error.what())] {
                end();
                Q_EMIT failed(message);
            });
        }
    });
    thread_->setParent(this);
    thread_->start();
}

void FetchRow::cancel() {
    token_.cancel();
    cancel_button_->setEnabled(false);
}

void FetchRow::end() {
    thread_->wait();
    thread_->deleteLater();
    thread_ = nullptr;
    hide();
}

void FetchRow::show_step(const ProgressStep& step) {
    QString text = QString::fromStdString(step.what);
    bar_->setRange(0, static_cast<int>(step.total));
    bar_->setValue(static_cast<int>(step.done));
    if (step.total > 0 && step.unit == "kB") {
        const auto size = [](std::int64_t kilobytes) {
            return QLocale(QLocale::English).formattedDataSize(kilobytes * 1000, 1, QLocale::DataSizeSIFormat);
        };
        text += QStringLiteral(": ") + tr("%1 of %2").arg(size(step.done), size(step.total));
    }
    what_->setText(text);
}

}  // namespace headlight::ui
