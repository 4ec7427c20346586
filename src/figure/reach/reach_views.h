// SPDX-License-Identifier: GPL-3.0-or-later
// Where attention goes in a long text.
#pragma once

#include "headlight/analyze/reach/reach.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace headlight::figure {

struct ReachViewOptions {
    std::string passage{};          ///< positions or words; empty: the paragraph of the pinned key
    std::optional<Position> key{};  ///< pinned
    std::int64_t moved = 40;        ///< pairs listed
};
void describe(Describes<ReachViewOptions> auto& r, const auto& field) {
    field(analyze::kPassage, r.passage);
    field(Field{"moved", "Pairs listed", "how many pairs of tokens are listed"}.within(1, 1000), r.moved);
}
/// Distances, depths and paragraphs of the layer's heads, how every head reads the passage, and what the head moves most. Reads
/// the patterns of all heads.
std::unique_ptr<Figure> reach_view(TracePtr, HeadId, const ReachViewOptions&, const CancelToken& = {}, const Progress& = {});

}  // namespace headlight::figure
