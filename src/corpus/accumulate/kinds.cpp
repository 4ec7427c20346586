// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/accumulate/accumulator.h"
#include "headlight/corpus/coreference/mention_index.h"
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/heads/first_tokens.h"
#include "headlight/corpus/heads/heads.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neurons.h"
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/syntax/word_index.h"

namespace headlight::corpus {

const std::vector<AccumulatorKind>& accumulator_kinds() {
    static const std::vector<AccumulatorKind> kinds = {
        heads_kind(),     variability_kind(), neurons_kind(), agreement_kind(),
        distances_kind(), words_kind(),       tags_kind(),    mentions_kind(),
    };
    return kinds;
}

}  // namespace headlight::corpus
