// SPDX-License-Identifier: GPL-3.0-or-later
// How well single heads resolve coreference (Clark et al. 2019, section 4.3), GAP and WinoBias.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/corpus/coreference/mention_index.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/text_store.h"

#include <cstdint>
#include <vector>

namespace headlight::corpus {

enum class CoreferenceScore {
    chains,              ///< the earlier mention with the most attention is of the same chain
    gap,                 ///< the name with the most attention, summed over it, is the pronoun's
    winobias_pro,        ///< the same, where the occupation agrees with the stereotype
    winobias_anti,       ///< and where it does not
    winobias_difference  ///< pro - anti, over sentences that have both versions
};
inline constexpr EnumRow<CoreferenceScore> coreference_scores[] = {
    {CoreferenceScore::chains, "chains", "Mentions of chains"},
    {CoreferenceScore::gap, "gap", "GAP"},
    {CoreferenceScore::winobias_pro, "winobias-pro", "WinoBias, with the stereotype"},
    {CoreferenceScore::winobias_anti, "winobias-anti", "WinoBias, against the stereotype"},
    {CoreferenceScore::winobias_difference, "winobias-difference", "WinoBias, with minus against"}};
constexpr const auto& enum_rows(CoreferenceScore) { return coreference_scores; }

/// A head's score. Shares from 0 to 1.
struct CoreferenceRow {
    CoreferenceScore score = CoreferenceScore::chains;
    HeadId head{};
    Interval accuracy{};     ///< with a bootstrap over texts, of the difference over pairs of sentences
    std::int64_t n = 0;      ///< cases that can be asked; of the difference pairs
    std::int64_t cases = 0;  ///< in the texts. The others lie beyond the chunk, or the pronoun of a causal model precedes a name
    /// Accuracy on the same n of always choosing: the nearest other mention; the nearest whose head is the same word, ignoring
    /// case (chains; a mention without one counts as wrong); the name that stands first (questions). NaN: not of this score.
    double nearest_mention = kNaN, head_match = kNaN, first_name = kNaN;
    bool best = false;        ///< on half A of the texts (in_half_b()); never of the difference
    double selection = kNaN;  ///< accuracy there, on selection_n
    std::int64_t selection_n = 0;
    Interval held_out{};  ///< on half B, on held_out_n
    std::int64_t held_out_n = 0;
};

struct CoreferenceTable {
    std::vector<CoreferenceRow> rows;  ///< [score that has cases, head]
    bool causal = false;
};
/// `text_of_chunk`: number of each chunk's text, so that the bootstrap draws texts.
CoreferenceTable coreference_table(const MentionIndex&, const std::vector<std::int64_t>& text_of_chunk,
                                   const BootstrapOptions& = {}, const CancelToken& = {});
/// The head that is the best on half A; {-1, -1}: the score has no cases.
HeadId best_head(const CoreferenceTable&, CoreferenceScore);
analyze::Table table_of(const CoreferenceTable&);

/// A case as one head decides it.
struct CoreferenceCase {
    std::int64_t chunk = 0;     ///< in the store
    std::int32_t mention = 0;   ///< index of IndexedMentions::mentions
    std::int32_t chosen = -1;   ///< -1: the head attends to none
    std::int32_t correct = -1;  ///< the chosen one where it is right, else the nearest of the chain
    double weight = 0;          ///< on the chosen one
    bool hit = false;
};
/// All cases of a score in the order of the chunks. Not for the difference, which has none.
std::vector<CoreferenceCase> coreference_cases(const MentionIndex&, CoreferenceScore, HeadId);
/// Hits and misses with the largest weights, at most `n` of each, hits first.
std::vector<CoreferenceCase> coreference_examples(const MentionIndex&, CoreferenceScore, HeadId, std::int64_t n);
/// The head of a mention as it stands in the text; empty for -1.
std::string head_word(const IndexedMentions&, std::int32_t mention, const std::string& text);
/// The text around a case: [the mention], {the chosen one}, and where another is right <the right one>.
std::string marked_case(const IndexedMentions&, const CoreferenceCase&, const std::string& text);
/// coreference_examples() of the best head of each score.
analyze::Table examples_of(const MentionIndex&, const CoreferenceTable&, std::int64_t n, TextStore& texts);

}  // namespace headlight::corpus
