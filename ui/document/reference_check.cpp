// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/reference_check.h"

#include "headlight/model/outline.h"

namespace headlight::ui {

ReferenceCheck::ReferenceCheck(Jobs& jobs) : jobs_(jobs) {
    wait_.setSingleShot(true);
    wait_.setInterval(wait_ms);
    connect(&wait_, &QTimer::timeout, this, &ReferenceCheck::start);
    connect(&jobs_, &Jobs::failed, this, [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::reference) return;
        pending_ = false;
        Q_EMIT changed();
    });
}

void ReferenceCheck::look(std::shared_ptr<const model::Model> model, std::function<void()> still_whole) {
    jobs_.cancel(Jobs::Lane::reference);
    model_ = std::move(model);
    still_whole_ = std::move(still_whole);
    found_.reset();
    pending_ = model_ && model::has_weights(*model_) && model::reference_file(model_->folder());
    if (pending_) {
        wait_.start();
    } else {
        wait_.stop();
    }
    Q_EMIT changed();
}

void ReferenceCheck::make_way() {
    if (!pending_) return;
    jobs_.cancel(Jobs::Lane::reference);
    wait_.start();
}

void ReferenceCheck::start() {
    if (!pending_) return;
    if (jobs_.busy(Jobs::Lane::model) || jobs_.busy(Jobs::Lane::picture)) return wait_.start();
    jobs_.start(Jobs::Lane::reference, QStringLiteral("Comparing with the stored reference"),
                [this, model = model_, still_whole = still_whole_](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    still_whole();
                    auto check = model::check_reference(*model, cancel);
                    return [this, model, check = std::move(check)] {
                        if (model != model_) return;
                        found_ = check;
                        pending_ = false;
                        Q_EMIT changed();
                    };
                });
}

}  // namespace headlight::ui
