// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/request.h"
#include "ui/document/open_model.h"
#include "ui/document/state.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <map>
#include <memory>
#include <optional>

namespace headlight::ui {

/// B: the run beside the document's (A), and how its tokens stand for those of A. Runs again when its text or its model is
/// another; when A is another, only the tokens are aligned again.
class OtherRun : public QObject {
    Q_OBJECT
public:
    OtherRun(Jobs&, QString device);

    /// `a`: the finished run of the prompt; null: none yet. `open`: its model.
    void look(const OtherInput&, const OpenModel& open, const PromptText& prompt, const std::shared_ptr<const trace::Trace>& a);
    /// Of a part of the run; null: there is no second run, it is not there yet, or it cannot be compared.
    std::shared_ptr<const figure::Beside> beside(model::Stack) const;
    /// Why it cannot be compared.
    const std::optional<ErrorFacts>& problem() const { return problem_; }
    /// Of the measures of B's heads, for differences; null as beside().
    std::shared_ptr<const analyze::HeadTable> differences(model::Stack) const;

Q_SIGNALS:
    void changed();

private:
    struct Part {
        std::shared_ptr<const figure::Beside> beside;
        std::shared_ptr<const analyze::HeadTable> differences;  ///< B - A
    };
    using Parts = std::map<model::Stack, Part>;
    /// What B's trace is of.
    struct Made {
        PromptText prompt;  ///< its own, and A's where it has none
        QString model;
        bool operator==(const Made&) const = default;
    };
    static Made made_of(const OtherInput&, const OpenModel&, const PromptText& a);
    void clear();
    static Parts parts_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b);

    Jobs& jobs_;
    QString device_;
    OpenModel other_model_;  ///< opened for B, where it is another than the document's
    std::optional<Made> made_;
    std::shared_ptr<const trace::Trace> a_, b_;
    Parts parts_;
    std::optional<ErrorFacts> problem_;
};

}  // namespace headlight::ui
