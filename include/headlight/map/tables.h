// SPDX-License-Identifier: GPL-3.0-or-later
// The table and arrays of a map, for files.
#pragma once

#include "headlight/analyze/table.h"
#include "headlight/io/array_stream.h"
#include "headlight/map/vectors.h"

#include <memory>
#include <optional>
#include <vector>

namespace headlight::map {

/// One row per point: layer, head, role (query, key), text, position, token, x, y[, z], norm, trust (empty where it stands apart,
/// and in a picture that is not measured yet), and part_of_speech of a treebank. `head`: only that one.
analyze::Table points_table(const QueryKeyMap&, std::optional<HeadId> head = {});

/// For NPZ. The heads must be whole layers, or one number in every layer, or one: [layer, head, ...] with the numbers in `layers`
/// and `heads`. queries, keys [layer, head, token, dims]; norms, trust [layer, head, point] (queries, then keys); scale_c,
/// trustworthiness, continuity, faithfulness, attention_near, divergence, poor [layer, head]; explained [layer, head, dims] of
/// PCA; text, position, token_ids, tokens, apart, and part_of_speech of a treebank [token]; texts [text]. Cross attention: the
/// same of its keys as key_text ... key_apart.
analyze::Table map_arrays(const QueryKeyMap&);

/// Next to them: queries_original, keys_original [layer, head, token, width], fed head by head.
std::vector<io::ArrayStream> vector_streams(const std::shared_ptr<const MapVectors>&);

}  // namespace headlight::map
