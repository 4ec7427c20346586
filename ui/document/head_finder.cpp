// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/head_finder.h"

#include <utility>

namespace headlight::ui {

namespace {

/// Weights that are read while a key is pressed.
constexpr std::int64_t quick_weights = 300'000;

}  // namespace

HeadFinder::HeadFinder(Jobs& jobs) : jobs_(jobs) {
    connect(&jobs_, &Jobs::finished, this, [this](Jobs::Lane lane) {
        if (lane != Jobs::Lane::finder || !working_) return;
        working_ = false;  // stopped by hand, or it failed
        Q_EMIT arrived();
    });
}

void HeadFinder::stop() {
    if (!std::exchange(working_, false)) return;
    jobs_.cancel(Jobs::Lane::finder);
}

void HeadFinder::look(const QString& expression, const TracePtr& trace, const TablePtr& measures) {
    const bool same_text = trace_ == trace;
    if (same_text && expression_ == expression && measures_ == measures) return;
    expression_ = expression;
    trace_ = trace;
    measures_ = measures;
    mistake_.reset();
    if (!same_text) stop();
    if (!trace_ || !measures_) {
        table_ = nullptr;
        filter_ = nullptr;
        query_ = {};
        matching_ = 0;
        return;
    }
    const auto parse = [&](const QString& text) {
        return analyze::HeadQuery::parse(text.toStdString(), *measures_, trace_.get());
    };
    QString read = expression;
    analyze::HeadQuery query;
    try {
        query = parse(expression);
    } catch (const Error& error) {
        mistake_ = error.facts();
        if (same_text) return;
        read = good_expression_;
        try {
            query = parse(read);
        } catch (const Error&) {  // it spoke of tokens that are no longer there
            read.clear();
        }
    }
    stop();
    if (query.measured() || query.cost(*trace_) <= quick_weights) {
        query.measure(*trace_);
        return adopt(read, std::move(query));
    }
    if (!same_text) adopt({}, {});  // what was found on another text says nothing here
    working_ = true;
    jobs_.start(Jobs::Lane::finder, QStringLiteral("Measuring attention"),
                [this, read, query, trace](const CancelToken& cancel, const Progress&) mutable -> Jobs::Deliver {
                    query.measure(*trace, cancel);
                    return [this, read, query] {
                        working_ = false;
                        adopt(read, query);
                        Q_EMIT arrived();
                    };
                });
}

void HeadFinder::adopt(const QString& expression, analyze::HeadQuery query) {
    good_expression_ = expression;
    query_ = std::move(query);
    table_ = query_.terms().empty() ? measures_ : std::make_shared<const analyze::HeadTable>(query_.with_terms(*measures_));
    auto filter = std::make_shared<figure::HeadFilter>();
    filter->expression = expression.simplified().toStdString();
    filter->dimmed = analyze::heads_left_out(*measures_, query_);
    filter->matching = matching_ = all() - std::int64_t(filter->dimmed.size());
    const bool tells_apart = matching_ > 0 && matching_ < all();
    filter_ = tells_apart ? filter : nullptr;
}

}  // namespace headlight::ui
