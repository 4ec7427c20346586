// SPDX-License-Identifier: GPL-3.0-or-later
// Are syntax trees embedded in the states of a layer? The structural probe (Hewitt & Manning 2019) looks for a linear map B
// after which the squared distance of two words is their distance in the tree, or the squared norm of a word its depth.
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"
#include "headlight/base/numbers.h"
#include "headlight/corpus/probe/tree_scores.h"

#include <Eigen/Core>

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::corpus {

/// States of one layer, [word, d], in the memory of whoever has them.
using StateRows = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

enum class TreeTarget { distance, depth };
inline constexpr EnumRow<TreeTarget> tree_targets[] = {
    {TreeTarget::distance, "distance", "Distances", "|B(h_i - h_j)|^2 is the distance of two words in the tree"},
    {TreeTarget::depth, "depth", "Depths", "|B h_i|^2 is the depth of a word in the tree"}};
constexpr const auto& enum_rows(TreeTarget) { return tree_targets; }

/// The training of the paper's code.
struct StructuralOptions {
    TreeTarget target = TreeTarget::distance;
    std::int64_t rank = 0;        ///< rows of B; 0, or more than d: d
    double learning_rate = 1e-3;  ///< of Adam; a tenth after every epoch in which the loss of the dev part does not fall
    std::int64_t batch = 20;      ///< sentences
    std::int64_t epochs = 40;     ///< at most; ends after 5 that do not improve the loss of the dev part by 1e-4
    std::uint64_t seed = 0;       ///< of B, uniform in [-0.05, 0.05), and of the order of sentences
};

struct StructuralProbe {
    using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    TreeTarget target = TreeTarget::distance;
    Matrix b;                                 ///< [rank, d] of the epoch with the smallest loss of the dev part
    std::int64_t epochs = 0, best_epoch = 0;  ///< run; counted from 0
    /// Mean over sentences of the mean absolute error: over pairs of words, or over words. Of the training part it is the mean
    /// while the best epoch ran.
    double train_loss = kNaN, dev_loss = kNaN;

    /// Distances [word, word] or depths [word] of a sentence.
    std::vector<float> predict(const StateRows&, const TreeSentence&) const;
};

/// The same bits on any number of threads. Errors: no sentences in a part, rows that the states do not have, a state that is
/// not finite, arcs that are not one tree, sizes below 1.
StructuralProbe fit_structural_probe(const StateRows&, std::span<const TreeSentence> train, std::span<const TreeSentence> dev,
                                     const StructuralOptions& = {}, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::corpus
