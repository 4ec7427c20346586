// SPDX-License-Identifier: GPL-3.0-or-later
// Which heads write a probe's directions into the stream?
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/corpus/probe/states.h"

#include <Eigen/Core>

#include <cstdint>
#include <vector>

namespace headlight::corpus {

struct LayerProbe;
struct ProbeResult;

/// u_c = w_c - mean over classes of w, of length 1: the direction of a class at the probe's layer (softmax weights are only
/// defined up to what all classes share). A head's output at a token is o = z W_O^h, what it adds to the stream, without b_O;
/// of a pair the first half of u_c reads the first span and the second half the other. Where the heads below the layer wrote the
/// class apart:
///     difference(h, c) = mean over test examples of class c of o . u_c  -  mean over the other test examples,
///     share(h, c) = difference(h, c) / the same difference of the stream x at the layer.
/// Without norms behind the branches the stream is the sum of what embedding, heads and MLPs add, so that all their shares sum to
/// 1; models that normalise behind a branch (BERT, Gemma 2) scale an output after it was written.
struct DirectionHeads {
    std::int64_t layer = 0;             ///< of the probe; heads of blocks 0 to layer - 1 write into its states
    std::int64_t n_heads = 0;           ///< of a block
    Eigen::MatrixXd difference, share;  ///< [class, block * n_heads + head]; NaN: a class without test examples, or all of them
    Eigen::VectorXd stream;             ///< [class] the difference of the stream
    bool empty() const noexcept { return difference.size() == 0; }
};
/// Runs the texts of the test part again. Errors: no model, or another one than the store's.
DirectionHeads direction_heads(const Manifest&, const StatesOptions&, const ProbeResult&, const LayerProbe&,
                               const CancelToken& = {}, const Progress& = {});

/// The heads with the largest shares of each class, at most `n`: class, layer, head, difference, share.
analyze::Table table_of(const DirectionHeads&, const ProbeResult&, std::int64_t n);
/// head_difference and head_share [class, layer, head].
std::vector<analyze::NamedArray> arrays_of(const DirectionHeads&);

}  // namespace headlight::corpus
