// SPDX-License-Identifier: GPL-3.0-or-later
// How well single heads find the arcs of a dependency tree (Clark et al. 2019, section 4.2), from the word index only.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/syntax/word_index.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// Whose attention predicts the head of a word: the dependent's own (the word that it attends to most), or that of the other
/// words (the word that attends to it most).
enum class ArcDirection { to_head, to_dependent };
inline constexpr EnumRow<ArcDirection> arc_directions[] = {
    {ArcDirection::to_head, "dependent-to-head", "Dependent attends to head"},
    {ArcDirection::to_dependent, "head-to-dependent", "Head attends to dependent"}};
constexpr const auto& enum_rows(ArcDirection) { return arc_directions; }

/// A relation in one direction, by one head. In a causal model a direction covers only the arcs whose attending word comes later;
/// accuracies, intervals and baselines are over these.
struct RelationRow {
    std::string relation;  ///< "nsubj": with its subtypes; "nsubj:pass": that subtype; "all": every arc
    ArcDirection direction = ArcDirection::to_head;
    HeadId head;                   ///< meaningless if n is 0
    bool best = false;             ///< the best of all heads on half A
    std::int64_t arcs = 0, n = 0;  ///< all arcs of the relation, and the covered ones
    Interval accuracy;             ///< share of the n arcs whose head is predicted; intervals are over sentences
    double baseline = kNaN;        ///< accuracy of the best constant offset
    std::int64_t offset = 0;       ///< the best one: head = word + offset, clamped to the sentence
    Interval gain;                 ///< accuracy - baseline, on the same drawn sentences
    double selection = kNaN;       ///< accuracy on half A, where the best head is chosen
    std::int64_t selection_n = 0;  ///< arcs there
    Interval held_out;             ///< accuracy on half B
    std::int64_t held_out_n = 0;   ///< arcs there
};
/// Rows with fewer arcs than this are marked as unreliable.
inline constexpr std::int64_t kFewArcs = 50;
inline constexpr std::int64_t kFarthestOffset = 6;  ///< tried by the baseline, in either direction

struct RelationTable {
    std::vector<RelationRow> rows;  ///< by number of arcs, "all" first, subtypes after their relation
    std::int64_t sentences = 0;
    std::int64_t arcs = 0;         ///< scored arcs; roots have none
    std::int64_t shared_arcs = 0;  ///< left out: both words have the bytes of one multiword token
    std::int64_t unread_arcs = 0;  ///< left out: a word without a token
    std::int64_t no_trees = 0;     ///< sentences whose arcs do not form a tree; they are scored as they are
    bool causal = true;
    bool enhanced = false;
};
struct RelationOptions {
    bool enhanced =
        false;  ///< the graph of DEPS: a word counts once for each of its relations, and any of its heads there is right
    bool all_heads = false;  ///< a row for every head; else for the best one of each relation and direction
    BootstrapOptions bootstrap;
};
/// Error: `enhanced`, and no word has such arcs.
RelationTable relation_table(const WordIndex&, const RelationOptions& = {}, const CancelToken& = {});

/// Half B has about every second sentence, by a hash of its id: FNV-1a with the finaliser of draw().
bool in_half_b(std::string_view sentence_id) noexcept;

analyze::Table table_of(const RelationTable&);
/// A table for a paper (booktabs), with the results of Clark et al. for BERT beside the corresponding relations.
std::string latex_of(const RelationTable&);

}  // namespace headlight::corpus
