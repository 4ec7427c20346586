// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/corpus/probe/structural_probe.h"

#include <ATen/ATen.h>

namespace headlight::corpus {

/// Sentences whose words follow each other as rows.
struct TreeBatch {
    at::Tensor states;  ///< [word, d]
    std::vector<std::int64_t> first;
    std::vector<const TreeLengths*> lengths;
};

/// L1 loss of every sentence: sum over pairs |predicted - distance| / n^2, or sum over words |predicted - depth| / n. With a
/// `gradient` also that of their mean, [rank, d]. The same bits on any number of threads.
std::vector<double> structural_loss(const TreeBatch&, TreeTarget, const at::Tensor& b, at::Tensor* gradient);

}  // namespace headlight::corpus
