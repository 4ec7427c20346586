// SPDX-License-Identifier: GPL-3.0-or-later
// Structural probes of every layer of a store, for distances and depths and for maps of several ranks.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/probe/states.h"
#include "headlight/corpus/probe/structural_probe.h"
#include "headlight/corpus/statistics/bootstrap.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headlight::corpus {

/// Scores on the test part as in TreeScores; the intervals are a bootstrap over its texts.
struct TreeIntervals {
    Interval uuas, distance_spearman, root_accuracy, depth_spearman;
};

struct StructuralRow {
    std::int64_t layer = 0, rank = 0;  ///< layer 0: what enters the first block; rank: rows of B, at most the width
    TreeIntervals scores;
    double distance_loss = kNaN, depth_loss = kNaN;  ///< of the development part, StructuralProbe::dev_loss
    std::int64_t distance_epochs = 0, depth_epochs = 0;
};

struct StructuralRunOptions {
    std::vector<std::int64_t> ranks{64};  ///< larger ones are the width; equal ones count once
    StructuralOptions fit;                ///< target and rank are not read
    BootstrapOptions bootstrap;
    std::uint64_t seed = 0;  ///< of the parts and the fits
};

struct StructuralResult {
    std::vector<StructuralRow> rows;  ///< [layer, rank]
    /// Of a chain from left to right: the tree of neighbours, positions as depths (the paper's baseline "Linear").
    TreeIntervals chain;
    std::int64_t n_train = 0, n_development = 0, n_test = 0, left_out = 0;  ///< sentences
    std::vector<analyze::NamedArray> maps{};  ///< distance_map and depth_map [layer, rank, width] of the largest rank; not kept
};
/// States are divided by the square root of the mean square of their features over the layer's words, one number a layer, so
/// that the paper's rate of learning suits streams of any size. A step of the progress is a layer. Errors: as read_trees() and
/// for_each_layer(), a rank below 1.
StructuralResult run_structural(const Manifest&, const StatesOptions&, const StructuralRunOptions&, const CancelToken& = {},
                                const Progress& = {});
analyze::Table table_of(const StructuralResult&);

void write_structural(const std::filesystem::path& store, const Manifest&, const StructuralResult&);
/// Errors: as read_probe().
StructuralResult read_structural(const std::filesystem::path& store, const Manifest&);

}  // namespace headlight::corpus
