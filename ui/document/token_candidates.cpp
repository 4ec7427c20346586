// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/token_candidates.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/analyze/prediction/predictions.h"
#include "headlight/base/error.h"
#include "headlight/model/classes.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace headlight::ui {

namespace {

QString chance_text(double probability) {
    const double percent = 100 * probability;
    return percent < 0.0005 ? QStringLiteral("< 0.001 %")
                            : QStringLiteral("%1 %").arg(percent, 0, 'f',
                                                         percent < 0.1  ? 3
                                                         : percent < 10 ? 2
                                                                        : 1);
}

QString named(const TokenReading::Entry& e) {
    const QString name = QStringLiteral("%1 (%2)").arg(e.label).arg(e.id);
    return e.chance.isEmpty() ? name : name + QStringLiteral(" ") + e.chance;
}

}  // namespace

TokenCandidates::TokenCandidates(Jobs& jobs, QObject* parent) : QObject(parent), jobs_(jobs) {}

void TokenCandidates::look(const TracePtr& trace, Position position) {
    trace_ = trace;
    position_ = position;
    tokenizer_ = trace->tokenizer();
    config_ = trace->config();
    chances_.clear();
    likeliest_.clear();
    jobs_.start(Jobs::Lane::candidates, {}, [this, trace, position](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
        auto all = analyze::next_tokens(*trace, position, logit_count(trace->config()));
        cancel.throw_if_cancelled();
        return [this, trace, all = std::move(all)] {
            if (trace != trace_) return;
            for (const analyze::TokenScore& t : all) chances_.emplace(t.id, static_cast<float>(t.probability));
            for (std::size_t i = 0; i < std::min(most, all.size()); ++i) likeliest_.push_back(entry(all[i].id));
            Q_EMIT arrived();
        };
    });
}

void TokenCandidates::take(std::shared_ptr<const text::Tokenizer> tokenizer, model::ModelConfig config,
                           const std::vector<double>& chances) {
    clear();
    tokenizer_ = std::move(tokenizer);
    config_ = std::move(config);
    std::vector<std::int64_t> ids(chances.size());
    std::iota(ids.begin(), ids.end(), 0);
    for (const std::int64_t id : ids) chances_.emplace(id, static_cast<float>(chances[static_cast<std::size_t>(id)]));
    const auto some = ids.begin() + static_cast<std::ptrdiff_t>(std::min(most, ids.size()));
    std::ranges::partial_sort(ids, some, std::ranges::greater{},
                              [&](std::int64_t id) { return chances[static_cast<std::size_t>(id)]; });
    if (tokenizer_) std::for_each(ids.begin(), some, [&](std::int64_t id) { likeliest_.push_back(entry(id)); });
    Q_EMIT arrived();
}

void TokenCandidates::clear() {
    if (trace_) jobs_.cancel(Jobs::Lane::candidates);
    trace_.reset();
    tokenizer_.reset();
    chances_.clear();
    likeliest_.clear();
}

TokenReading::Entry TokenCandidates::entry(std::int64_t id) const {
    const text::Tokenizer& tokenizer = *tokenizer_;
    TokenReading::Entry e{id, QString::fromStdString(analyze::output_label(config_, tokenizer, id)), QString::number(id), {}};
    const std::string bytes = config_.class_head.any() ? analyze::output_label(config_, tokenizer, id) : tokenizer.bytes_of(id);
    try {  // by its text where that names this token and no other
        if (!bytes.empty() && analyze::choose_output(config_, tokenizer, bytes).id == id) e.typed = QString::fromStdString(bytes);
    } catch (const Error&) {
    }
    if (const auto chance = chances_.find(id); chance != chances_.end())
        e.chance = chance_text(static_cast<double>(chance->second));
    return e;
}

TokenReading TokenCandidates::read(const QString& typed, bool next) const {
    TokenReading found;
    if (!tokenizer_ || typed.isEmpty()) return found;
    const text::Tokenizer& tokenizer = *tokenizer_;
    const std::int64_t vocabulary = config_.vocab_size;
    const std::string text = typed.toStdString();
    std::string problem;
    if (next && trace_ && typed == QStringLiteral("next") && !model::has_classes(config_)) {
        try {
            found.taken = {
                entry(analyze::choose_target(config_, tokenizer, trace_->encoding(), position_, typed.toStdString()).id)};
            found.note = QStringLiteral("the one in the text: ") + named(found.taken.front());
        } catch (const Error& error) {
            found.note = QString::fromStdString(error.facts().problem);
        }
        return found;
    }
    try {
        found.taken = {entry(analyze::choose_output(config_, tokenizer, text).id)};
    } catch (const Error& error) {
        problem = error.facts().problem;
    }
    const auto ids = [&](const std::string& of) {
        const auto all = tokenizer.encode(of, std::nullopt, false).ids;
        return std::ranges::all_of(all, [&](std::int64_t id) { return id < vocabulary; }) ? all : std::vector<std::int64_t>{};
    };
    if (model::has_classes(config_)) {
        const QString classes = QStringLiteral("The classes are ") + QString::fromStdString(model::class_list(config_));
        found.note = found.taken.empty() ? classes : named(found.taken.front());
        return found;
    }
    if (found.taken.empty()) {
        const std::vector<std::int64_t> parts = ids(text);
        if (parts.size() > 1)
            for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 6); ++i) found.other.push_back(entry(parts[i]));
        found.note = QString::fromStdString(problem);
        for (std::size_t i = 0; i < found.other.size(); ++i)
            found.note += (i ? QStringLiteral(" + ") : QStringLiteral(": ")) + named(found.other[i]);
        return found;
    }
    found.note = named(found.taken.front());
    const bool is_id = std::ranges::all_of(typed, [](QChar c) { return c.isDigit(); });
    const std::string spelling = text.front() == ' ' ? text.substr(1) : " " + text;
    if (const auto other = ids(spelling); !is_id && other.size() == 1 && other[0] != found.taken.front().id) {
        found.other = {entry(other[0])};
        found.note += (spelling.front() == ' ' ? QStringLiteral(", with a space ") : QStringLiteral(", without a space ")) +
                      named(found.other.front());
    }
    return found;
}

}  // namespace headlight::ui
