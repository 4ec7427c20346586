// SPDX-License-Identifier: GPL-3.0-or-later
// Neurons by the token that they fire on.
#pragma once

#include "headlight/analyze/contribution/neuron_id.h"
#include "headlight/analyze/table.h"
#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::corpus {

struct TokenNeuron {
    analyze::NeuronId id;
    std::int64_t triggers = 0;    ///< chunks with its largest positive coefficients
    std::int64_t with_token = 0;  ///< of these, whose trigger is the token
    std::int64_t best_rank = 0;   ///< of the strongest trigger that is the token; 0: the neuron's strongest
    double mean = kNaN;           ///< coefficient at the triggers that are the token
    double largest = kNaN;        ///< the largest of these
    Interval share() const noexcept { return share_interval(with_token, triggers); }  ///< with Wilson's interval of 95 %
};
struct TokenNeurons {
    std::string token;
    std::int64_t occurrences = 0, tokens = 0;  ///< of the token, and of all tokens, in the chunks of the store
    std::int64_t found = 0;                    ///< neurons with the token among their triggers
    std::vector<TokenNeuron> neurons;          ///< those with the largest lower ends of the share's interval, at most `top`
};
/// A token is the one whose text this is (as neuron_table() shows it); " Mr" is also the token "Mr" behind a space, for
/// tokenizers whose tokens leave out the space. `layer` -1: all. `top` 0: every neuron found. Errors: no such layer; a token that
/// the texts do not have.
TokenNeurons neurons_of_token(const Neurons&, TextStore&, const std::string& token, std::int64_t layer = -1,
                              std::int64_t top = 50, const CancelToken& = {}, const Progress& = {});
/// layer, neuron, share, low, high, with_token, triggers, best_rank, mean, largest.
analyze::Table table_of(const TokenNeurons&);

}  // namespace headlight::corpus
