// SPDX-License-Identifier: GPL-3.0-or-later
// The model's shape, saved with the results of its heads, so that a store can be read without the model.
#pragma once

#include "headlight/corpus/accumulate/accumulator.h"

#include <string>

namespace headlight::corpus {

struct SavedHeads {
    std::int64_t n_layers = 0, n_heads = 0;
    bool causal = true;
};
void put_heads(Arrays&, const std::string& name, std::int64_t n_layers, std::int64_t n_heads, bool causal);
/// Error if the array is missing, explaining how to gather `kind`, or invalid.
SavedHeads get_heads(const Arrays&, const std::string& name, const AccumulatorKind& kind);

}  // namespace headlight::corpus
