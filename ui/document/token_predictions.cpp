// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/token_predictions.h"

#include "headlight/analyze/prediction/outputs.h"
#include "headlight/figure/core/number_text.h"
#include "headlight/model/classes.h"

namespace headlight::ui {

namespace {

/// "POSITIVE 0.981 · neutral 0.012 · …"; of a token classifier, and of an answer, what the view of predictions lists.
QString class_line(const trace::Trace& trace) {
    if (!model::class_position(trace.config(), trace.encoding().ids))
        return QStringLiteral("Each token has its own classes: the Predictions view lists them");
    QStringList words;
    for (const analyze::ClassScore& each : analyze::class_predictions(trace, TokenPredictions::candidates))
        words << QString::fromStdString(analyze::output_label(trace, each.id)) + u' ' + figure::number_text(each.probability, 3);
    return words.join(QStringLiteral(" · "));
}

}  // namespace

TokenPredictions::TokenPredictions(Jobs& jobs) : jobs_(jobs) {}

void TokenPredictions::clear() {
    jobs_.cancel(Jobs::Lane::strip);
    all_.clear();
    masked_.reset();
    line_.clear();
}

void TokenPredictions::look(bool wanted, const TracePtr& trace, std::optional<Position> pinned) {
    const bool causal = trace && trace->config().causal;
    const std::optional<Position> asked = causal ? std::nullopt : pinned;
    if (wanted == wanted_ && trace == trace_ && asked == asked_) return;
    clear();
    wanted_ = wanted;
    trace_ = trace;
    asked_ = asked;
    if (!wanted || !trace) return;
    const model::ModelConfig& c = trace->config();
    if (model::has_classes(c)) {
        jobs_.start(Jobs::Lane::strip, QStringLiteral("Predicting"),
                    [this, trace](const CancelToken&, const Progress&) -> Jobs::Deliver {
                        const QString classes = class_line(*trace);
                        return [this, classes] {
                            line_ = classes;
                            Q_EMIT arrived();
                        };
                    });
        return;
    }
    if (!c.has_unembedding || (!causal && !model::fills_masks(c))) {
        line_ = c.stack == model::Stack::encoder ? QStringLiteral("The encoder predicts no tokens, the decoder does")
                                                 : QStringLiteral("This model predicts no tokens");
        return;
    }
    if (!causal && !asked) {
        line_ = QStringLiteral("Click a token to mask it");
        return;
    }
    jobs_.start(Jobs::Lane::strip, QStringLiteral("Predicting"),
                [this, trace, asked, causal](const CancelToken& cancel, const Progress&) -> Jobs::Deliver {
                    if (causal) {
                        auto found = std::make_shared<std::vector<analyze::TokenPrediction>>(
                            analyze::predictions(*trace, candidates, cancel));
                        return [this, found] {
                            all_ = std::move(*found);
                            Q_EMIT arrived();
                        };
                    }
                    Masked masked{*asked, analyze::masked_candidates(*trace, *asked, candidates, cancel)};
                    return [this, masked] {
                        masked_ = masked;
                        Q_EMIT arrived();
                    };
                });
}

}  // namespace headlight::ui
