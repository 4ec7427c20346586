// SPDX-License-Identifier: GPL-3.0-or-later
// What the logits of a model are of: tokens of the vocabulary, or classes.
#pragma once

#include "headlight/analyze/prediction/token_choice.h"
#include "headlight/base/ids.h"
#include "headlight/model/config.h"
#include "headlight/trace/trace.h"

#include <string>
#include <string_view>

namespace headlight::analyze {

/// A column of the logits for people: "·she", or the name of a class.
std::string output_label(const model::ModelConfig&, const text::Tokenizer&, std::int64_t id);
std::string output_label(const trace::Trace&, std::int64_t id);

/// A column of the logits as a person names it: choose_token(), or a class by name or number (model::class_of).
TokenChoice choose_output(const model::ModelConfig&, const text::Tokenizer&, std::string_view typed,
                          const std::string& option = {});

/// What a prediction at `position` is asked about: choose_output(), or "next", the token that the text has there (of a causal
/// model the one after the position, else the one at it). A class may have that name.
TokenChoice choose_target(const model::ModelConfig&, const text::Tokenizer&, const text::Encoding&, Position position,
                          std::string_view typed, const std::string& option = {});

/// The row of the logits that a question reads where none is chosen: that of the class, else the last one.
Position output_position(const trace::Trace&);

/// A probability of a row of logits: exp(logit - log_sum); the sigmoid of the logit where classes do not exclude each other.
double output_probability(const model::ModelConfig&, double logit, double log_sum);

/// Error for a model whose logits are of the classes of a text: `what` is about tokens.
void require_token_logits(const model::ModelConfig&, const std::string& what);

}  // namespace headlight::analyze
