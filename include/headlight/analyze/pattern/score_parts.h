// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/job.h"

#include <string>
#include <vector>

namespace headlight::analyze {

/// One summand of a head's scores: [query, key]; NaN where the query may not see the key.
struct ScorePart {
    std::string name;  ///< "content", "rotary", "position", "c2p", "p2c"
    Matrix values;
};

/// What the scores of a head are the sum of, before a cap of the scores; the last one is that sum, "score".
///   latent attention (DeepSeek): scale * content_i.content_j, and "rotary" of the numbers that rotate;
///   DeBERTa: scale * q_i.k_j, and its terms "c2p" and "p2c";
///   ALiBi, a bias by distance: scale * q_i.k_j, and "position";
///   rotary: the score of q and k before their rotation, and "position", what the rotation changes;
///   a model with neither: the score alone.
/// Replaced parts are the replaced ones, and a replaced score is the replaced one: the parts may then not sum to it.
std::vector<ScorePart> score_parts(const trace::Trace&, HeadId, const CancelToken& = {});

}  // namespace headlight::analyze
