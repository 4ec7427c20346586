// SPDX-License-Identifier: GPL-3.0-or-later
// DeBERTa's terms of the score (He et al. 2021, section 3.1).
#pragma once

#include "model/internals.h"
#include "model/run/forward.h"

namespace headlight::model {

/// Tables of heads [head0, head0 + q.size(0)) for these queries and keys, both [head, pos, d_head] contiguous; nothing in
/// models without such terms. Each head is computed alone, so that one head's table equals that of all heads bit for bit.
RelativeTables relative_tables(const Model::Internals&, Layer, std::int64_t head0, const at::Tensor& q, const at::Tensor& k);

/// Adds both terms to the scores of one query: row[0] is key legal.first.
void add_relative_terms(const RelativeTables&, std::int64_t head, std::int64_t query, KeyRange legal, float* row);
void add_relative_terms(const RelativeTables&, std::int64_t head, std::int64_t query, KeyRange legal, double* row);

struct Tile;
/// One table (of those two) as the term of a tile: [heads, rows, keys].
at::Tensor relative_part(const RelativeTables&, const at::Tensor& table, const Tile&);

}  // namespace headlight::model
