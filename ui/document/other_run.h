// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/core/request.h"
#include "headlight/intervention/recipe/run.h"
#include "ui/document/open_model.h"
#include "ui/document/state.h"
#include "ui/jobs/jobs.h"

#include <QElapsedTimer>
#include <QObject>

#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace headlight::ui {

/// Of OtherRun::differences().
inline constexpr const char* moved_measure = "moved";

/// What the model reads of it.
trace::Prompt input_of(const PromptText&, const OpenModel&);

/// B: the run beside the document's (A), and how its tokens stand for those of A. Runs again when its text, its model or its
/// edits are others; when A is another, only the tokens are aligned again. While only the edits change, the B before stays until
/// the new one is there; the latest edits come next, behind a step that began a moment ago and in place of a longer one.
class OtherRun : public QObject {
    Q_OBJECT
public:
    OtherRun(Jobs&, model::LoadOptions);
    /// How B's model is opened from now on; a B of another compute type goes until look().
    void set_load(const model::LoadOptions&);

    /// `a`: the finished run of the prompt; null: none yet. `open`: its model. Edits that do not fit the model or the text are
    /// left out of B, each with its problem.
    void look(const OtherInput&, const intervention::Recipe&, const OpenModel& open, const PromptText& prompt,
              const std::shared_ptr<const trace::Trace>& a);
    /// Of a part of the run; null: there is no second run, it is not there yet, or it cannot be compared.
    std::shared_ptr<const figure::Beside> beside(model::Stack) const;
    /// Why it cannot be compared.
    const std::optional<ErrorFacts>& problem() const { return problem_; }
    /// By the words of the edits of B (intervention::words_of()): why one was left out, and what is remarkable about it.
    const std::map<std::string, ErrorFacts>& problems_of_edits() const { return edited_.problems; }
    const std::vector<std::string>& notes() const { return edited_.notes; }
    /// Of B's heads, and B - A; null as beside(), and where the models have other numbers of heads. What the random-token probe
    /// says is a property of the model: one model has no difference in it. The differences have a measure of their own, `moved`:
    /// the share of attention that moved (HeadComparison::tv), where the runs are short enough to be compared at once.
    std::shared_ptr<const analyze::HeadTable> measures(model::Stack) const;
    std::shared_ptr<const analyze::HeadTable> differences(model::Stack) const;

Q_SIGNALS:
    void changed();

private:
    struct Part {
        std::shared_ptr<const figure::Beside> beside;
        std::shared_ptr<const analyze::HeadTable> measures, differences;  ///< of B; B - A
    };
    using Parts = std::map<model::Stack, Part>;
    /// What B's trace is of.
    struct Made {
        PromptText prompt;  ///< its own, and A's where it has none
        QString model;
        intervention::Recipe recipe;
        bool operator==(const Made&) const = default;
    };
    /// What became of the edits.
    struct Edited {
        std::map<std::string, ErrorFacts> problems;
        std::vector<std::string> notes;
    };
    static Made made_of(const OtherInput&, const intervention::Recipe&, const OpenModel&, const PromptText& a);
    static std::shared_ptr<const trace::Trace> run_edits(intervention::Sources&, const intervention::Recipe&, Edited&,
                                                         const CancelToken&, const Progress&);
    void begin(const Made&, const std::shared_ptr<const trace::Trace>& known, const OpenModel&, const PromptText& a);
    void clear();
    static Part part_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b);
    static Parts parts_of(const std::shared_ptr<const trace::Trace>& a, const std::shared_ptr<const trace::Trace>& b);

    Jobs& jobs_;
    model::LoadOptions load_;
    OpenModel other_model_;     ///< opened for B, where it is another than the document's
    std::optional<Made> made_;  ///< what B is to be of; b_of_: what it is of
    std::optional<Made> b_of_;
    std::function<void()> next_;  ///< begins the latest step, behind one that is soon done; empty: none waits
    QElapsedTimer since_begin_;
    std::shared_ptr<const trace::Trace> a_, b_;
    Parts parts_;
    Edited edited_;
    std::optional<ErrorFacts> problem_;
    /// Of the text that is edited, for the lane's jobs, one after the other; null: no edit was made yet.
    std::shared_ptr<intervention::Sources> sources_;
    std::optional<Made> sources_of_;  ///< without its recipe
    std::shared_ptr<const model::Model> sources_model_;
};

}  // namespace headlight::ui
