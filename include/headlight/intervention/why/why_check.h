// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a weight depends on the heads that wrote its query or its key: the sum's forecast next to a run without them, and to
// runs without other heads of the same layers (docs/views/why.md).
#pragma once

#include "headlight/analyze/why/why.h"
#include "headlight/analyze/why/why_path.h"
#include "headlight/intervention/recipe/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headlight::intervention {

inline constexpr std::int64_t kWhyControls = 20;

/// Each head's output at the query or the key is replaced by its mean over the text (the edit "mean L3H0 @5").
struct WhyCheck {
    bool of_query = false;
    std::vector<HeadId> heads;       ///< at most three, those with the largest positive sums of the side
    std::vector<std::string> edits;  ///< as edits in words
    double weight = 0;               ///< of the unedited run
    double predicted = 0;            ///< analyze::why_predicted()
    double actual = 0;               ///< of the run under the edits
    std::vector<double> controls;    ///< of runs in which as many other heads of the same layers are replaced, in the order drawn
    /// Controls whose weight is at most `actual`: 0 says that no control lowers the weight as far.
    std::int64_t as_low() const;
};
/// `of_query`: heads that wrote the query, else the key; none: the side whose three heads have the larger sum. The controls are
/// drawn with `seed`: kWhyControls different sets, or as many as there are. Errors: no head of that side adds anything.
WhyCheck check_why(Sources&, const trace::Trace& unedited, const analyze::Why&, std::optional<bool> of_query,
                   std::uint64_t seed = 1, const CancelToken& = {}, const Progress& = {});

/// Of each head that the path names, the edit in words that takes its mean over the text at the token where it wrote. The first
/// is on, the others are switched off ("off mean L3H0 @5").
std::vector<std::string> edits_of_path(const std::vector<analyze::WhyStep>&);

}  // namespace headlight::intervention
