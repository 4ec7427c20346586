// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/prediction/predictions.h"
#include "headlight/trace/trace.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace headlight::ui {

/// How well the model predicted each token of the shown trace, and what it expects next. A masked language model predicts
/// one token at a time: the pinned one, masked. Of a classifier its classes. Computed in a job, and only while shown.
class TokenPredictions : public QObject {
    Q_OBJECT
public:
    using TracePtr = std::shared_ptr<const trace::Trace>;
    static constexpr std::int64_t candidates = 8;

    explicit TokenPredictions(Jobs&);

    void look(bool wanted, const TracePtr&, std::optional<Position> pinned);

    /// Of the last trace; empty until they arrive, and for a masked language model.
    const std::vector<analyze::TokenPrediction>& all() const { return all_; }
    struct Masked {
        Position position;
        analyze::MaskedCandidates found;
    };
    const std::optional<Masked>& masked() const { return masked_; }
    /// A line in place of these: the classes of a classifier, likeliest first, or why there is nothing to show.
    const QString& line() const { return line_; }

Q_SIGNALS:
    void arrived();

private:
    void clear();

    Jobs& jobs_;
    TracePtr trace_;
    std::optional<Position> asked_;
    bool wanted_ = false;
    std::vector<analyze::TokenPrediction> all_;
    std::optional<Masked> masked_;
    QString line_;
};

}  // namespace headlight::ui
