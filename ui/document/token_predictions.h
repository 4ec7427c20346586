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

/// How well the model foresaw each token of the trace that is shown, and what it expects next. A masked-word model is
/// asked about one token at a time: the one that is pinned, masked. Made by a job, and only while somebody looks.
class TokenPredictions : public QObject {
    Q_OBJECT
public:
    using TracePtr = std::shared_ptr<const trace::Trace>;
    static constexpr std::int64_t candidates = 8;

    explicit TokenPredictions(Jobs&);

    void look(bool wanted, const TracePtr&, std::optional<Position> pinned);

    /// Of the trace that was looked at last; empty until they have come, or of a masked-word model.
    const std::vector<analyze::TokenPrediction>& all() const { return all_; }
    struct Masked {
        Position position;
        analyze::MaskedCandidates found;
    };
    const std::optional<Masked>& masked() const { return masked_; }
    /// Why there is nothing to show for this model.
    const QString& missing() const { return missing_; }

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
    QString missing_;
};

}  // namespace headlight::ui
