// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/model_probe.h"
#include "ui/document/open_model.h"
#include "ui/jobs/jobs.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>

namespace headlight::ui {

/// The random-token probe of the open model. What an earlier run of the program kept is read as soon as the model is open; else
/// the probe runs beside everything else when the first picture is there. Where that would take long, only when asked for.
class HeadProbe : public QObject {
    Q_OBJECT
public:
    static constexpr int wait_ms = 150;
    static constexpr double most_seconds = 15;             ///< of a run that nobody asked for
    static constexpr std::uintmax_t most_bytes = 2 << 30;  ///< of weights that are read for their hash unasked

    explicit HeadProbe(Jobs&);

    void look(const OpenModel&);
    /// A text has been run: how long the probe will take, and its turn.
    void run_finished(const trace::Trace& run);
    /// Something more important is about to run: the probe begins again behind it.
    void make_way();
    /// Somebody wants to see it, however long it takes.
    void ask();

    const std::shared_ptr<const analyze::InductionProbe>& found() const { return found_; }
    /// This model can be probed.
    bool possible() const { return state_ != State::none; }
    /// It is on its way: being read, run, or about to be.
    bool pending() const;
    /// Why there is none, for the notes of the status strip; empty: there is one, or it is on its way.
    QString note() const;

Q_SIGNALS:
    /// It is there, or a note is.
    void changed();

private:
    enum class State { none, reading, waiting, running, deferred, done };
    void take_turn();
    void start();
    void put_off(const QString& why);
    double seconds() const;

    Jobs& jobs_;
    OpenModel model_;
    State state_ = State::none;
    bool asked_ = false, giving_way_ = false;
    std::optional<analyze::ProbeOptions> plan_;
    std::optional<double> seconds_a_token_;
    std::shared_ptr<const analyze::InductionProbe> found_;
    QString note_;
    QTimer wait_;
};

}  // namespace headlight::ui
