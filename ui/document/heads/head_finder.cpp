// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/heads/head_finder.h"

#include <algorithm>
#include <utility>

namespace headlight::ui {

namespace {

/// Weights that are read while a key is pressed.
constexpr std::int64_t quick_weights = 300'000;

/// Whether an expression asks for words of a corpus; what they are is left open.
struct AskedWords final : analyze::QueryPhrases {
    bool any = false;
    std::string measure(const analyze::QueryPhrase&) override {
        any = true;
        return "layer";
    }
};

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

void HeadFinder::look(const QString& expression, const TracePtr& trace, const TablePtr& measures, const CorpusPtr& corpus) {
    const bool same_text = trace_ == trace;
    if (same_text && expression_ == expression && measures_ == measures && corpus_ == corpus) return;
    expression_ = expression;
    trace_ = trace;
    measures_ = measures;
    corpus_ = corpus;
    mistake_.reset();
    if (!same_text) stop();
    if (!trace_ || !measures_) {
        table_ = nullptr;
        filter_ = nullptr;
        query_ = {};
        matching_ = 0;
        return;
    }
    AskedWords words;
    const auto parse = [&](const QString& text) {
        words = {};
        return analyze::HeadQuery::parse(text.toStdString(), *measures_, trace_.get(),
                                         corpus_ && corpus_->index ? &words : nullptr);
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
            query = {};
            words = {};
        }
    }
    stop();
    if (words.any && read == good_expression_ && corpus_ == answered_ && query_.terms().empty()) {
        // Another text: what the corpus says is known.
        analyze::HeadTable table = *measures_;
        table.measures.insert(table.measures.end(), of_words_.measures.begin(), of_words_.measures.end());
        table.values.insert(table.values.end(), of_words_.values.begin(), of_words_.values.end());
        return adopt(read, query_, table);
    }
    if (words.any) {
        if (!same_text) adopt({}, {}, *measures_);
        return ask_words(read);
    }
    if (query.measured() || query.cost(*trace_) <= quick_weights) {
        query.measure(*trace_);
        return adopt(read, std::move(query), *measures_);
    }
    if (!same_text) adopt({}, {}, *measures_);  // what was found on another text says nothing here
    working_ = true;
    jobs_.start(Jobs::Lane::finder, QStringLiteral("Measuring attention"),
                [this, read, query, trace](const CancelToken& cancel, const Progress&) mutable -> Jobs::Deliver {
                    query.measure(*trace, cancel);
                    return [this, read, query] {
                        working_ = false;
                        adopt(read, query, *measures_);
                        Q_EMIT arrived();
                    };
                });
}

/// The words of a treebank are counted in a job, where a mistake in their names shows as well.
void HeadFinder::ask_words(const QString& expression) {
    working_ = true;
    jobs_.start(Jobs::Lane::finder, QStringLiteral("Asking the corpus"),
                [this, expression, trace = trace_, measures = measures_, corpus = corpus_](const CancelToken& cancel,
                                                                                           const Progress&) -> Jobs::Deliver {
                    std::optional<ErrorFacts> mistake;
                    corpus::HeadQuestion found;
                    try {
                        found = corpus::head_question(expression.toStdString(), *measures, trace.get(), corpus.get());
                        found.query.measure(*trace, cancel);
                    } catch (const Error& error) {
                        mistake = error.facts();
                    }
                    return [this, expression, found, mistake, known = measures->measures.size(), corpus] {
                        working_ = false;
                        mistake_ = mistake;
                        if (!mistake) {
                            answered_ = corpus;
                            of_words_ = found.table;
                            of_words_.measures.erase(of_words_.measures.begin(),
                                                     of_words_.measures.begin() + std::ptrdiff_t(known));
                            of_words_.values.erase(of_words_.values.begin(), of_words_.values.begin() + std::ptrdiff_t(known));
                            adopt(expression, found.query, found.table);
                        }
                        Q_EMIT arrived();
                    };
                });
}

bool HeadFinder::asks_corpus() const {
    const std::vector<std::string> asked = query_.measures();
    return std::ranges::any_of(asked, [&](const std::string& id) {
        const bool of_text = measures_ && measures_->find(id) && !analyze::is_of_corpus(id);
        return !of_text && std::ranges::find(query_.terms(), id, &analyze::HeadQuery::Term::id) == query_.terms().end();
    });
}

void HeadFinder::adopt(const QString& expression, analyze::HeadQuery query, const analyze::HeadTable& table) {
    good_expression_ = expression;
    query_ = std::move(query);
    const bool same = &table == measures_.get() && query_.terms().empty();
    table_ = same ? measures_ : std::make_shared<const analyze::HeadTable>(query_.with_terms(table));
    auto filter = std::make_shared<figure::HeadFilter>();
    filter->expression = expression.simplified().toStdString();
    filter->dimmed = analyze::heads_left_out(*table_, query_);
    filter->matching = matching_ = all() - std::int64_t(filter->dimmed.size());
    const bool tells_apart = matching_ > 0 && matching_ < all();
    filter_ = tells_apart ? filter : nullptr;
}

}  // namespace headlight::ui
