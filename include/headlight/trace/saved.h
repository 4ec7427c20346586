// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <filesystem>
#include <memory>

namespace headlight::trace {

/// True for a file that open_saved() takes: a safetensors file that `headlight trace` wrote, and any .npz.
bool is_saved(const std::filesystem::path&);

/// A trace without its model, from one of
/// - a file of `headlight trace` (.safetensors or .npz) with the patterns of every layer, of an encoder-decoder model those of
///   all three attentions;
/// - attention computed elsewhere, an .npz with `attention` [layer, head, query, key] and `tokens` [key] (texts), and
/// if
///   they are there `ids` [key], `special` [key] (bool), `sentence_b_start` (the first token of a second sentence),
///   `model` and `text` (texts).
/// Its model is an outline (model::has_weights() is false): patterns, pooled maps and the measures that need patterns
/// only are there, whatever else the file holds can be read, and what needs weights is an Error. A model is taken for
/// causal when the file says so or no token attends to a later one.
/// Errors name the array: wrong number of axes or sizes, numbers that are no attention weights (NaN, negative, above
/// 1). Rows that do not sum to one become a warning of Trace::info() with their number and the first.
std::shared_ptr<const Trace> open_saved(const std::filesystem::path&, const CancelToken& = {}, const Progress& = {});

/// Error for the outline that a saved trace has of its model.
void require_weights(const model::Model&);
/// Error for a model without unembedding, or without weights.
void require_unembedding(const model::Model&);

}  // namespace headlight::trace
