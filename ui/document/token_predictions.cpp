// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/document/token_predictions.h"

namespace headlight::ui {

TokenPredictions::TokenPredictions(Jobs& jobs) : jobs_(jobs) {}

void TokenPredictions::clear() {
    jobs_.cancel(Jobs::Lane::strip);
    all_.clear();
    masked_.reset();
    missing_.clear();
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
    if (!c.has_unembedding || (!causal && !c.mlm_head)) {
        missing_ = c.stack == model::Stack::encoder ? QStringLiteral("The encoder predicts no tokens, the decoder does")
                                                    : QStringLiteral("This model predicts no tokens");
        return;
    }
    if (!causal && !asked) {
        missing_ = QStringLiteral("Click a token to mask it");
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
