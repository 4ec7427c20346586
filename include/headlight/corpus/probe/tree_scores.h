// SPDX-License-Identifier: GPL-3.0-or-later
// Distances and depths of words in a dependency tree, and how well predicted ones match them (Hewitt & Manning 2019, section 4).
#pragma once

#include "headlight/base/numbers.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// A sentence of a treebank: its words are consecutive rows of the states.
struct TreeSentence {
    std::int64_t first = 0;                 ///< row of the first word
    std::vector<std::int32_t> heads;        ///< [word] the word that it depends on; -1: the root
    std::vector<std::uint8_t> punctuation;  ///< [word] 1: left out of spanning trees, and never the predicted root
    std::int64_t words() const noexcept { return std::ssize(heads); }
};

/// Lengths of paths along the arcs of a sentence.
struct TreeLengths {
    std::vector<float> distance;  ///< [word, word] arcs between two words
    std::vector<float> depth;     ///< [word] arcs to the root
};
/// Error if the arcs are not one tree.
TreeLengths tree_lengths(const TreeSentence&);

/// What a sentence adds to the scores.
struct TreeScore {
    std::int64_t words = 0;
    std::int64_t edges = 0, hits = 0;  ///< of the spanning tree over words that are no punctuation; 0 edges for depths
    double spearman = kNaN;            ///< of distances: mean over words; NaN where every prediction is the same
    bool has_root = false;             ///< depths were predicted, and a word is no punctuation
    bool root_hit = false;             ///< the word of least depth that is no punctuation is the root
};
/// The minimum spanning tree of predicted distances [word, word] against that of the tree's own distances, which has the tree's
/// arcs but where a mark of punctuation has dependents.
TreeScore score_distances(const TreeSentence&, std::span<const float> predicted);
TreeScore score_depths(const TreeSentence&, std::span<const float> predicted);

struct TreeScores {
    double uuas = kNaN;           ///< hits / edges over all sentences
    double spearman = kNaN;       ///< mean over lengths of 5 to 50 words of the mean over sentences of that length
    double root_accuracy = kNaN;  ///< share of sentences
};
TreeScores tree_scores(std::span<const TreeScore>);
/// Whether a sentence counts for TreeScores::spearman.
bool counts_for_spearman(const TreeScore&);

/// Rank correlation; equal values share the mean of their ranks. NaN where all of one side are equal;
/// pairs with a NaN are left out.
double spearman(std::span<const float> a, std::span<const float> b);

/// Edges of the minimum spanning tree of distances [n, n] over the points that are not left out, each as (smaller, larger) in
/// the order in which Kruskal's method takes them; of equal distances the pair that comes first.
std::vector<std::pair<std::int32_t, std::int32_t>> minimum_spanning_tree(std::span<const float> distances,
                                                                         std::span<const std::uint8_t> left_out);

}  // namespace headlight::corpus
