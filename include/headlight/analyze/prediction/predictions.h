// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/prediction/logit_lens.h"
#include "headlight/analyze/table.h"
#include "headlight/base/fields.h"
#include "headlight/base/ids.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// How well the model saw a token coming.
struct TokenPrediction {
    std::int64_t id = 0;
    double log_probability = 0;    ///< nats, of this token given those before it; NaN for the first
    std::int64_t rank = -1;        ///< of this token; 0: the likeliest; -1 for the first
    double entropy = 0;            ///< nats, of the distribution after this token
    std::vector<TokenScore> next;  ///< likeliest tokens after this one
};

struct PredictionsRequest {
    std::int64_t top = 5;  ///< likely tokens of each state
};
void describe(Describes<PredictionsRequest> auto& r, const auto& field) {
    field(Field{"top", "Candidates", "how many likely tokens are listed"}.within(1, 100'000).formerly("candidates"), r.top);
}

/// For every token of a causal model's text. Errors: no unembedding, a model that looks both ways (use masked_candidates).
std::vector<TokenPrediction> predictions(const trace::Trace&, std::int64_t top = 10, const CancelToken& = {});

/// What the output says at one position.
struct Outcome {
    std::vector<TokenScore> likeliest;  ///< best first
    double entropy = 0;                 ///< nats, of the softmax over all outputs; NaN where they are sigmoids of their own
    std::vector<TokenScore> asked;      ///< in the order in which they were asked for
    std::vector<std::int64_t> ranks;    ///< of these; 0: no logit is larger
};
/// The `top` likeliest outputs, tokens or classes, and those of these ids. Errors: no unembedding, a position that does not
/// exist.
Outcome outcome(const trace::Trace&, Position, std::int64_t top, const std::vector<std::int64_t>& asked = {});

/// Likeliest tokens at one position of any model with an output: the next one, or in encoders the one that stands there.
std::vector<TokenScore> next_tokens(const trace::Trace&, Position, std::int64_t top = 10);

/// A class of a text, picture or token; or a token as start or end of the answer.
struct ClassScore {
    Position position;      ///< the row of the logits
    std::int64_t rank = 0;  ///< 0: the likeliest
    std::int64_t id = 0;    ///< column of the logits: ModelConfig::labels
    double logit = 0;
    double probability =
        0;  ///< softmax over the classes, or sigmoid (ClassHead::independent); of an answer softmax over the tokens
};
/// The `top` likeliest classes of a text or picture, or of each token of a token classifier; of question answering the likeliest
/// starts, then the likeliest ends. Error for a model whose logits are of tokens.
std::vector<ClassScore> class_predictions(const trace::Trace&, std::int64_t top = 10);

/// Candidates of a masked-word model for one token: a run in which its embedding is that of the mask.
struct MaskedCandidates {
    std::vector<TokenScore> candidates;
    double log_probability = 0;  ///< of the token that stands there
    std::int64_t rank = 0;
};
/// Errors: a model without a masked-word head, a tokenizer without a mask, a position that does not exist.
MaskedCandidates masked_candidates(const trace::Trace&, Position, std::int64_t top = 10, const CancelToken& = {});

/// A row for each token and candidate of the next one: position, token_id, token, log_probability, rank, next_entropy,
/// next_rank, next_token_id, next_token, next_probability.
Table table_of(const std::vector<TokenPrediction>&, const text::Tokenizer&);
/// A row a score: position, token, rank, class_id, class, logit, probability.
Table table_of(const std::vector<ClassScore>&, const trace::Trace&);
/// A row a candidate: rank, token_id, token, logit, probability.
Table table_of(const MaskedCandidates&, const text::Tokenizer&);

}  // namespace headlight::analyze
