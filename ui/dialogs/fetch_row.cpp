// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/dialogs/fetch_row.h"

#include "ui/style/widgets.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QPointer>

namespace headlight::ui {

FetchRow::FetchRow(Jobs& jobs, Fetcher fetcher, QWidget* parent)
    : QWidget(parent),
      jobs_(jobs),
      fetcher_(std::move(fetcher)),
      what_(new QLabel),
      bar_(new QProgressBar),
      cancel_button_(new QPushButton(QStringLiteral("Stop"))) {
    if (!fetcher_)
        fetcher_ = [](const std::string& reference, const CancelToken& token, const Progress& progress) {
            return fetch::fetch(reference, {}, token, progress);
        };
    setObjectName(QStringLiteral("FetchRow"));
    bar_->setTextVisible(false);
    bar_->setAccessibleName(QStringLiteral("Fetch progress"));
    cancel_button_->setAutoDefault(false);
    cancel_button_->setToolTip(QStringLiteral("Stop; what has arrived is kept, and fetching again continues from there"));
    auto* row = new_row(this, {0, 0, 0, 0});
    row->addWidget(what_);
    row->addWidget(bar_, 1);
    row->addWidget(cancel_button_);
    connect(cancel_button_, &QPushButton::clicked, this, &FetchRow::cancel);
    connect(&jobs_, &Jobs::progressed, this, [this](Jobs::Lane lane, const ProgressStep& step) {
        if (lane == Jobs::Lane::fetch) show_step(step);
    });
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane, const Failure& failure) {
        if (lane != Jobs::Lane::fetch) return;
        hide();
        Q_EMIT failed(QString::fromUtf8(Error(failure.facts).what()));
    });
    hide();
}

FetchRow::~FetchRow() { jobs_.cancel(Jobs::Lane::fetch); }

void FetchRow::start(const QString& reference) {
    if (busy()) return;
    what_->setText(QStringLiteral("Fetching %1 …").arg(reference));
    bar_->setRange(0, 0);
    show();
    jobs_.start(Jobs::Lane::fetch, QStringLiteral("Fetching %1").arg(reference),
                [self = QPointer(this), reference, fetch = fetcher_](const CancelToken& cancel, const Progress& progress) {
                    const fetch::Fetched got = fetch(reference.toStdString(), cancel, progress);
                    return [self, got] {
                        if (!self) return;
                        self->hide();
                        Q_EMIT self->fetched(QString::fromStdString(got.reference), QString::fromStdString(got.folder.string()));
                    };
                });
}

void FetchRow::cancel() {
    jobs_.cancel(Jobs::Lane::fetch);
    hide();
    Q_EMIT cancelled();
}

void FetchRow::show_step(const ProgressStep& step) {
    QString text = QString::fromStdString(step.what);
    bar_->setRange(0, static_cast<int>(step.total));
    bar_->setValue(static_cast<int>(step.done));
    if (step.total > 0 && step.unit == "kB") {
        const auto size = [](std::int64_t kilobytes) {
            return QLocale(QLocale::English).formattedDataSize(kilobytes * 1000, 1, QLocale::DataSizeSIFormat);
        };
        text += QStringLiteral(": ") + QStringLiteral("%1 of %2").arg(size(step.done), size(step.total));
    }
    what_->setText(text);
}

}  // namespace headlight::ui
