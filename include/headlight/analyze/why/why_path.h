// SPDX-License-Identifier: GPL-3.0-or-later
// From a weight to a circuit: the head that wrote most of its query or key, the weight with which that head read it, and so on.
#pragma once

#include "headlight/analyze/why/why.h"

#include <optional>
#include <string>
#include <vector>

namespace headlight::analyze {

inline constexpr std::size_t longest_why_path = 6;

/// A weight of the walk, and what adds most to its advantage on either side.
struct WhyStep {
    WhyOptions of;
    double weight = 0;
    bool of_query = false;               ///< the side at which the part wrote
    std::optional<StreamPart> writer{};  ///< none: nothing adds to the weight, or it has no rivals
    double sum = 0;                      ///< of the writer: Why::query_sums or key_sums
    std::optional<Position> source{};    ///< of a head: the token with the largest term (why_sources())
    double from_source = 0;

    Position written_at() const { return of_query ? of.query : of.key; }
};

/// The walk backwards from a weight, at most `most` weights: the head with the largest sum of either side, if that is at least a
/// tenth of the advantage, then the weight with which it read the token that gave most of it, compared as why_options() does by
/// default. Where no head adds that much, the part with the largest sum ends it. Errors: those of why().
std::vector<WhyStep> why_path(const trace::Trace&, const WhyOptions&, std::size_t most = longest_why_path,
                              const CancelToken& = {});

/// "L5H7 33<-5 (0.963) ⇐ key +1.79: L1H0 5<-4 (0.312) from ·grey ⇐ key +1.13: L0.mlp at ·grey"
std::string path_text(const trace::Trace&, const std::vector<WhyStep>&);

}  // namespace headlight::analyze
