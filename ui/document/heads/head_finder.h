// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/error.h"
#include "headlight/corpus/heads/corpus_heads.h"
#include "headlight/figure/core/figure.h"
#include "headlight/trace/trace.h"
#include "ui/jobs/jobs.h"

#include <QObject>

#include <memory>
#include <optional>

namespace headlight::ui {

/// The heads that match the finder's expression on the shown trace. An invalid expression leaves the last valid one in
/// force; one that matches no head leaves every view as it is. Attention that takes long is measured in a job, and so are the
/// words of a corpus.
class HeadFinder : public QObject {
    Q_OBJECT
public:
    using TracePtr = std::shared_ptr<const trace::Trace>;
    using TablePtr = std::shared_ptr<const analyze::HeadTable>;

    explicit HeadFinder(Jobs&);

    using CorpusPtr = std::shared_ptr<const corpus::CorpusHeads>;

    /// `corpus`: whose words the expression may name; null: none.
    void look(const QString& expression, const TracePtr&, const TablePtr&, const CorpusPtr& corpus = nullptr);

    /// The last valid expression, on this trace.
    const analyze::HeadQuery& query() const { return query_; }
    /// The measures, and those that the expression adds; null without a trace.
    const TablePtr& table() const { return table_; }
    /// For painting; null when no head is painted faintly.
    const std::shared_ptr<const figure::HeadFilter>& filter() const { return filter_; }
    std::int64_t matching() const { return matching_; }
    std::int64_t all() const { return table_ ? table_->n_layers * table_->n_heads : 0; }
    bool matches(HeadId head) const { return table_ && query_.matches(*table_, head); }
    /// It names measures or words of the corpus.
    bool asks_corpus() const;
    /// Why the current expression is invalid.
    const std::optional<ErrorFacts>& mistake() const { return mistake_; }
    /// A result is being computed; until then the one before stands.
    bool working() const { return working_; }

Q_SIGNALS:
    /// A result arrived after look() had returned.
    void arrived();

private:
    void stop();
    void ask_words(const QString& expression);
    /// `table`: the measures, and those of conditions on words.
    void adopt(const QString& expression, analyze::HeadQuery, const analyze::HeadTable& table);

    Jobs& jobs_;
    QString expression_, good_expression_;
    TracePtr trace_;
    TablePtr measures_, table_;
    CorpusPtr corpus_, answered_;
    analyze::HeadTable of_words_;  ///< what `answered_` said of the words of the last valid expression
    analyze::HeadQuery query_;
    std::shared_ptr<const figure::HeadFilter> filter_;
    std::int64_t matching_ = 0;
    std::optional<ErrorFacts> mistake_;
    bool working_ = false;
};

}  // namespace headlight::ui
