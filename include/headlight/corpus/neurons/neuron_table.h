// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/store/text_store.h"

#include <functional>
#include <string>

namespace headlight::corpus {

/// The location of a trigger, for display.
struct TriggerContext {
    std::string text;    ///< its id in the corpus
    std::string before;  ///< the text before the token
    std::string token, next;
};

/// With up to so many tokens before it.
TriggerContext context_of(TextStore&, const Trigger&, std::int64_t tokens_before);

/// One row per trigger: the largest coefficients first, then the most negative ones, then samples from the highest level of
/// activity down: kind (largest, smallest, sample), rank, from, to (of a sample: the coefficients of its level), coefficient,
/// chunk, position, next_id, text, before, token, next. Arrays: histogram [bin] and bin [bin], a coefficient in it.
analyze::Table neuron_table(const Neurons&, Layer, Neuron, const std::function<TriggerContext(const Trigger&)>&);

}  // namespace headlight::corpus
