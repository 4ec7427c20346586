// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/figure/core/figure.h"
#include "headlight/trace/trace.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <memory>
#include <optional>

namespace headlight::ui {

/// The heads that match the finder's expression on the shown trace. An invalid expression leaves the last valid one in
/// force; one that matches no head leaves every view as it is. Attention that takes long is measured in a job.
class HeadFinder : public QObject {
    Q_OBJECT
public:
    using TracePtr = std::shared_ptr<const trace::Trace>;
    using TablePtr = std::shared_ptr<const analyze::HeadTable>;

    explicit HeadFinder(Jobs&);

    void look(const QString& expression, const TracePtr&, const TablePtr&);

    /// The last valid expression, on this trace.
    const analyze::HeadQuery& query() const { return query_; }
    /// The measures, and those that the expression adds; null without a trace.
    const TablePtr& table() const { return table_; }
    /// For painting; null when no head is painted faintly.
    const std::shared_ptr<const figure::HeadFilter>& filter() const { return filter_; }
    std::int64_t matching() const { return matching_; }
    std::int64_t all() const { return table_ ? table_->n_layers * table_->n_heads : 0; }
    bool matches(HeadId head) const { return table_ && query_.matches(*table_, head); }
    /// Why the current expression is invalid.
    const std::optional<ErrorFacts>& mistake() const { return mistake_; }
    /// A result is being computed; until then the one before stands.
    bool working() const { return working_; }

Q_SIGNALS:
    /// A result arrived after look() had returned.
    void arrived();

private:
    void stop();
    void adopt(const QString& expression, analyze::HeadQuery);

    Jobs& jobs_;
    QString expression_, good_expression_;
    TracePtr trace_;
    TablePtr measures_, table_;
    analyze::HeadQuery query_;
    std::shared_ptr<const figure::HeadFilter> filter_;
    std::int64_t matching_ = 0;
    std::optional<ErrorFacts> mistake_;
    bool working_ = false;
};

}  // namespace headlight::ui
