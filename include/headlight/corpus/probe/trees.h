// SPDX-License-Identifier: GPL-3.0-or-later
// The sentences of a store whose arcs are one tree, for probes that learn trees.
#pragma once

#include "headlight/base/job.h"
#include "headlight/corpus/probe/labels.h"
#include "headlight/corpus/probe/tree_scores.h"
#include "headlight/corpus/store/text_store.h"

#include <cstdint>
#include <vector>

namespace headlight::corpus {

struct StoredTrees {
    std::vector<ProbeExample> words;               ///< of all sentences, one sentence behind the other: the rows of the states
    std::vector<TreeSentence> sentences;           ///< of at least two words
    std::vector<std::int64_t> texts;               ///< [sentence] number of its text
    std::vector<std::int64_t> chunks;              ///< [sentence] its chunk
    std::vector<std::int32_t> first_word;          ///< [sentence] index of its first word in Text::words
    std::vector<ProbePart> parts;                  ///< [sentence] as part_of_text()
    std::int64_t left_out = 0;                     ///< sentences that are no tree, or with a word without tokens in one chunk
    std::int64_t count(ProbePart) const noexcept;  ///< sentences
};
/// Errors: texts without trees; a part of the texts without sentences.
StoredTrees read_trees(TextStore&, std::uint64_t seed, const CancelToken& = {});

}  // namespace headlight::corpus
