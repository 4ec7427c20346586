// SPDX-License-Identifier: GPL-3.0-or-later
// Where heads attend over a corpus, from the arrays of Heads: by distance, and at the places where a head's behaviour is
// strongest.
#pragma once

#include "headlight/base/ids.h"
#include "headlight/corpus/accumulate/arrays.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/heads/heads.h"

#include <Eigen/Core>

#include <string>
#include <vector>

namespace headlight::corpus {

// `merged`: of a store (store/segments.h). Errors: no measures of heads were gathered, arrays of another version.

/// Ids of the measures that the store has.
std::vector<std::string> measure_ids(const Arrays& merged);
/// Sums of weights by distance, [layer * head, bin of distance_bin()].
Eigen::MatrixXd distance_weights(const Arrays& merged);
/// Best first. Error for a head that the store does not have.
std::vector<Example> head_examples(const Arrays& merged, HeadExample, HeadId);

}  // namespace headlight::corpus
