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

/// Compares an opened model with the reference stored beside it, if there is one. Once per model, in a job that begins after
/// the first picture and gives way to runs.
class ReferenceCheck : public QObject {
    Q_OBJECT
public:
    explicit ReferenceCheck(Jobs&);

    /// Of a newly opened model; null or without weights: nothing to compare. `still_whole` throws if the model's files have
    /// changed.
    void look(std::shared_ptr<const model::Model>, std::function<void()> still_whole);
    /// The model is needed for something else: compares later.
    void make_way();
    /// Empty: there is no reference, or the comparison is not done yet.
    const std::optional<model::ReferenceCheck>& found() const { return found_; }
    /// There is a reference, and the comparison is not done yet.
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
