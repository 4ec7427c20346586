// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/reference.h"
#include "ui/jobs/jobs.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <optional>

namespace headlight::ui {

/// How far an opened model's numbers are from the reference that lies beside it, where one does. Looked at once for each
/// model, in the background: after the first picture, and never in the way of a run.
class ReferenceCheck : public QObject {
    Q_OBJECT
public:
    explicit ReferenceCheck(Jobs&);

    /// Of a model that was opened; null, or one without weights: nothing to compare. `still_whole` throws when the model's
    /// files have changed.
    void look(std::shared_ptr<const model::Model>, std::function<void()> still_whole);
    /// The model is wanted for something else: later.
    void make_way();
    /// Nothing: there is no reference, or it is not done yet.
    const std::optional<model::ReferenceCheck>& found() const { return found_; }
    /// There is one and its numbers are on their way.
    bool pending() const { return pending_; }
    static constexpr int wait_ms = 400;  ///< after the last run

Q_SIGNALS:
    void changed();

private:
    void start();

    Jobs& jobs_;
    std::shared_ptr<const model::Model> model_;
    std::function<void()> still_whole_;
    std::optional<model::ReferenceCheck> found_;
    bool pending_ = false;
    QTimer wait_;
};

}  // namespace headlight::ui
