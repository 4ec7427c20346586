// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/analyze/table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

namespace headlight::analyze {

/// How much of the layer around attention a norm-based map takes in (Kobayashi 2020, 2021). With f_h(x_j) = v_j W_O^h:
enum class MixScope {
    attention,           ///< |sum_h a_ij f_h(x_j)|
    attention_residual,  ///< the same with the token's own stream x_i added where j = i
    with_norm,           ///< and the layer's norm behind it taken of each vector, at its scale in the run (post-norm models)
};

/// True where a weighting is of the whole layer, so that every head of the layer has the same map.
bool of_whole_layer(Weighting) noexcept;

/// Norm-based attention of a whole layer, [token, source token]: lengths of what each token gives to each. b_O is nobody's.
/// Illegal sources are 0. Error: with_norm in a model that has no norm behind attention.
Matrix value_mix(const trace::Trace&, Layer, MixScope, const CancelToken& = {});
/// Only the rows of `count` tokens from `first` on: [count, source token].
Matrix value_mix_rows(const trace::Trace&, Layer, MixScope, Position first, std::int64_t count, const CancelToken& = {});

/// One head alone, not normalised over the row: |a_ij f_h(x_j)|, [token, source token].
Matrix head_value_mix(const trace::Trace&, HeadId);

/// Mixing ratio |from others| / (|from others| + |kept of itself|) of every token (Kobayashi 2021, eq. 10): [token]; what
/// is kept is the token's own value, and with a residual its own stream. NaN where there are no others (T = 1).
Vector mixing_ratio(const trace::Trace&, Layer, MixScope);

/// Mixing ratio of every token in every layer: layer, position, token, ratio, ratio_residual, and of post-norm models ratio_norm.
Table mixing_table(const trace::Trace&, const CancelToken& = {}, const Progress& = {});
/// Lengths of every pair of a layer, and of one of its heads: query, query_token, key, key_token, [attention, head_length,]
/// length, length_residual[, length_norm]. With `arrays` the same as arrays [query, key] instead of rows, of any length of text.
Table mix_table(const trace::Trace&, Layer, std::optional<Head>, bool arrays, const CancelToken& = {});

}  // namespace headlight::analyze
