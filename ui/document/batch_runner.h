// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/request.h"
#include "ui/document/open_model.h"
#include "ui/jobs/jobs.h"

#include <QObject>

namespace headlight::ui {

/// The texts of a file, one a line, run through the open model.
class BatchRunner : public QObject {
    Q_OBJECT
public:
    explicit BatchRunner(Jobs&);

    /// Drops the texts before; an empty file, or a model that takes no texts: leaves it at that.
    void run(const QString& file, const OpenModel&);
    /// Null: there are none, or they are still running.
    const std::shared_ptr<const figure::TextBatch>& texts() const { return texts_; }

Q_SIGNALS:
    void changed();
    /// The texts could not be read or run, or were stopped by hand.
    void given_up();

private:
    void set(std::shared_ptr<const figure::TextBatch>);

    Jobs& jobs_;
    std::shared_ptr<const figure::TextBatch> texts_;
    bool running_ = false;
};

}  // namespace headlight::ui
