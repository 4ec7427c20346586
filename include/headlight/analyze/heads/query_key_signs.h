// SPDX-License-Identifier: GPL-3.0-or-later
// What the queries and keys of a head are by themselves, before any weight (Yeh et al. 2023, AttentionViz, section 5).
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace headlight::analyze {

/// Vectors of one role, [token, width], and the tokens that do not count: first and special ones.
struct RoleVectors {
    std::span<const float> values;
    std::span<const std::uint8_t> apart;  ///< [token]
};

struct QueryKeySigns {
    double norm_gap = 0;  ///< mean |q| - mean |k|
    double centre_distance =
        0;                  ///< |mean q - mean k| over the root of the mean squared distance of points from their role's mean
    double similarity = 0;  ///< mean cosine of a token's own query and key, about their means
};
/// `own_text`: token i has query i and key i; else there is no similarity. NaN where no token counts, and for a centre distance
/// of clouds without extent.
QueryKeySigns query_key_signs(const RoleVectors& queries, const RoleVectors& keys, std::int64_t width, bool own_text);

/// Cosine of W_q and W_k of a head, as two lists of numbers: near 1, tokens attend to their like. NaN where their shapes differ.
/// [layer * heads + head]. Error for a model without weights.
std::vector<double> weight_similarity(const model::Model&, const CancelToken& = {});

}  // namespace headlight::analyze
