// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"
#include "headlight/base/job.h"

#include <QObject>
#include <QString>
#include <QThreadPool>

#include <functional>
#include <map>
#include <memory>

namespace headlight::ui {

/// What a person is told when something could not be done: what, where, what to do.
struct Failure {
    QString doing;  ///< "Opening novella-7m"
    ErrorFacts facts;
};

/// Work beside the window. A lane holds at most one piece of work that still matters: starting another cancels the one
/// before and drops its result, also when it was already finished and on its way. All signals and results arrive in
/// the window's thread.
class Jobs : public QObject {
    Q_OBJECT
public:
    /// model: load and run; picture: figures that take long; inspector; preview: of an export; file: exports, sessions
    /// and copies; finder: attention that its expression asks for; strip: predictions under the tokens; texts: those that
    /// are pooled; tensor: the histogram in the list of tensors; reference: the comparison with a stored one.
    enum class Lane { model, picture, second_picture, inspector, preview, file, finder, strip, texts, tensor, reference };
    Q_ENUM(Lane)
    /// Runs in the window's thread when the work is done and still wanted.
    using Deliver = std::function<void()>;
    using Work = std::function<Deliver(const CancelToken&, const Progress&)>;

    explicit Jobs(QObject* parent = nullptr);
    ~Jobs() override;

    void start(Lane, const QString& doing, Work);
    void cancel(Lane);
    /// Cancels everything and waits until it has ended; nothing is delivered any more.
    void cancel_all();
    bool busy(Lane lane) const { return current_.contains(lane); }
    bool idle() const { return current_.empty(); }
    QString doing(Lane) const;

Q_SIGNALS:
    void started(Lane lane);
    void progressed(Lane lane, const QString& what, int done, int total);
    /// The lane is free again: delivered, failed or cancelled by cancel().
    void finished(Lane lane);
    void failed(Lane lane, const Failure& failure);

private:
    struct Ticket {
        quint64 number = 0;
        CancelToken token;
        QString doing;
    };
    QThreadPool& pool(Lane);
    bool wanted(Lane, quint64 number) const;
    void finish(Lane, quint64 number, const Deliver&);
    void fail(Lane, quint64 number, const Failure&);

    std::map<Lane, Ticket> current_;
    quint64 next_ = 1;
    QThreadPool model_pool_, picture_pool_;
};

/// The facts of any exception of the core or the standard library.
ErrorFacts facts_of(const std::exception&);

}  // namespace headlight::ui

Q_DECLARE_METATYPE(headlight::ui::Failure)
