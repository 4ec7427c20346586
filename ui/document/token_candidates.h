// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/trace/trace.h"
#include "ui/jobs/jobs.h"

#include <QObject>
#include <QString>

#include <memory>
#include <unordered_map>
#include <vector>

namespace headlight::ui {

/// What a person may mean by a text where one token is asked for.
struct TokenReading {
    struct Entry {
        std::int64_t id = 0;
        QString label;   ///< "·John"
        QString typed;   ///< what names it without doubt in a field
        QString chance;  ///< "12.3 %"; empty while it is not known
    };
    std::vector<Entry> taken;  ///< the token that is meant; empty: there is none
    std::vector<Entry> other;  ///< the other spelling (with or without a space), or the tokens of a longer text
    QString note;              ///< one line: what is taken, and what else there is
};

/// The probabilities that the model gives every token at one position, and the likeliest of them. Computed in a job.
class TokenCandidates : public QObject {
    Q_OBJECT
public:
    using TracePtr = std::shared_ptr<const trace::Trace>;
    static constexpr std::size_t most = 20;

    explicit TokenCandidates(Jobs&, QObject* parent = nullptr);

    void look(const TracePtr&, Position);
    /// Of another text: the probabilities of every token or class, or none yet. Without a tokenizer nothing is read.
    void take(std::shared_ptr<const text::Tokenizer>, model::ModelConfig, const std::vector<double>& chances = {});
    /// Keeps the trace no longer.
    void clear();
    /// Likeliest first; empty until they arrive.
    const std::vector<TokenReading::Entry>& likeliest() const { return likeliest_; }
    /// `next`: the word stands for the token that the text has there.
    TokenReading read(const QString& typed, bool next = false) const;

Q_SIGNALS:
    void arrived();

private:
    TokenReading::Entry entry(std::int64_t id) const;

    Jobs& jobs_;
    TracePtr trace_;  ///< looked at
    Position position_{0};
    std::shared_ptr<const text::Tokenizer> tokenizer_;
    model::ModelConfig config_;
    std::unordered_map<std::int64_t, float> chances_;
    std::vector<TokenReading::Entry> likeliest_;
};

}  // namespace headlight::ui
