// SPDX-License-Identifier: GPL-3.0-or-later
// Effects on the way through the queries, keys or values of some heads: path patching (Wang et al. 2022, arXiv:2211.00593,
// appendix B).
#pragma once

#include "intervention/sweep/work.h"

#include <vector>

namespace headlight::intervention {

/// Pass C: runs variants in which the outputs of all heads but the edited ones are frozen, and takes what the receivers become in
/// each. Pass D: the variants that are returned, in the same order, in which nothing but the receivers is edited.
std::vector<trace::Variant> behind_receivers(const PairWork&, std::vector<trace::Variant> senders, const CancelToken&);
/// What pass D of a variant costs, in Variants::cost().
std::int64_t cost_behind_receivers(const PairWork&, const trace::Variant& sender);

}  // namespace headlight::intervention
