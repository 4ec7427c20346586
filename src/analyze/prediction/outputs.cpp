// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/analyze/prediction/outputs.h"

#include "headlight/base/error.h"
#include "headlight/model/classes.h"

#include <cmath>

namespace headlight::analyze {

std::string output_label(const model::ModelConfig& c, const text::Tokenizer& tokenizer, std::int64_t id) {
    return c.class_head.any() && !model::reads_pictures(c) ? c.labels.at(static_cast<std::size_t>(id))
                                                           : text::token_label(tokenizer, id);
}

std::string output_label(const trace::Trace& trace, std::int64_t id) {
    return output_label(trace.config(), *trace.tokenizer(), id);
}

TokenChoice choose_output(const model::ModelConfig& c, const text::Tokenizer& tokenizer, std::string_view typed,
                          const std::string& option) {
    if (!model::has_classes(c)) return choose_token(tokenizer, c.vocab_size, typed, option);
    const std::int64_t id = model::class_of(c, typed, option);
    return {id, output_label(c, tokenizer, id), {}};
}

TokenChoice choose_target(const model::ModelConfig& c, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                          Position position, std::string_view typed, const std::string& option) {
    if (typed != "next" || model::has_classes(c)) return choose_output(c, tokenizer, typed, option);
    const std::int64_t at = position.value + (c.causal ? 1 : 0);
    if (at >= encoding.size())
        throw Error({.problem = "No token comes after the last position, so there is no next one to ask about",
                     .item = option,
                     .found = "next",
                     .hint = "Name a token, or leave it out for the model's own prediction"});
    const std::int64_t id = encoding.ids[static_cast<std::size_t>(at)];
    return {id, output_label(c, tokenizer, id), {}};
}

Position output_position(const trace::Trace& trace) {
    return Position(model::class_position(trace.config(), trace.encoding().ids).value_or(trace.tokens() - 1));
}

double output_probability(const model::ModelConfig& c, double logit, double log_sum) {
    return c.class_head.independent ? 1.0 / (1.0 + std::exp(-logit)) : std::exp(logit - log_sum);
}

void require_token_logits(const model::ModelConfig& c, const std::string& what) {
    if (!c.class_head.any()) return;
    throw Error({.problem = what + " needs logits of tokens, and this model's are of classes",
                 .item = c.name,
                 .found = model::head_text(c),
                 .hint = reads_pictures(c) ? "The lens, attribution and sweeps work towards a class"
                                           : "The lens, attribution, importance and sweeps work towards a class"});
}

}  // namespace headlight::analyze
