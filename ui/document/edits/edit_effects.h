// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/intervention/recipe/effects.h"
#include "ui/document/other_run.h"

#include <QObject>
#include <QTimer>

#include <memory>

namespace headlight::ui {

/// What each edit of the list does to the watched answer, alone and with those before it, on the prompt's own text. Computed in a
/// job, a moment after the last change.
class EditEffects : public QObject {
    Q_OBJECT
public:
    struct Found {
        intervention::RecipeEffects effects;
        QString answer;                              ///< "·late", against another "·late − ·early"
        QString place;                               ///< the token after which it stands
        std::vector<std::optional<std::size_t>> of;  ///< by line, which of the effects; none: it cannot be read
        const intervention::EditEffect* line(std::size_t i) const {
            return i < of.size() && of[i] ? &effects.edits[*of[i]] : nullptr;
        }
    };

    explicit EditEffects(Jobs&, QObject* parent = nullptr);
    /// `run`: the finished run of the prompt; null: there is nothing to watch.
    void look(const EditList&, const OpenModel&, const PromptText&, const std::shared_ptr<const trace::Trace>& run);
    /// Of these edits; null: not there yet, or problem() says why.
    const std::shared_ptr<const Found>& found() const { return found_; }
    const std::optional<ErrorFacts>& problem() const { return problem_; }

Q_SIGNALS:
    void changed();

private:
    void start();

    struct Asked {
        EditList edits;
        OpenModel model;
        PromptText prompt;
        std::shared_ptr<const trace::Trace> run;
        bool same(const Asked& other) const { return edits == other.edits && run == other.run; }
    };
    Jobs& jobs_;
    QTimer pause_;
    Asked asked_;
    std::shared_ptr<intervention::Sources> sources_;
    std::shared_ptr<const trace::Trace> sources_of_;
    std::shared_ptr<const Found> found_;
    std::optional<ErrorFacts> problem_;
};

}  // namespace headlight::ui
