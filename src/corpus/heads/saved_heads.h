// SPDX-License-Identifier: GPL-3.0-or-later
// The model's shape, saved with the results of its heads, so that a store can be read without the model.
#pragma once

#include "headlight/corpus/heads/heads.h"

#include <string>

namespace headlight::corpus {

/// Error when it makes no sense (more than 131,072 heads), or as Arrays::get().
HeadsShape get_heads(const Arrays&, const std::string& name);
/// Error for layers and heads that no model has.
void check_heads(const Arrays&, const std::string& name, std::int64_t layers, std::int64_t heads);
/// Error if the array is missing, explaining how to gather `kind` of a treebank.
HeadsShape get_heads(const Arrays&, const std::string& name, const AccumulatorKind& kind);

}  // namespace headlight::corpus
