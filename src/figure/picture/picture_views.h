// SPDX-License-Identifier: GPL-3.0-or-later
// Attention laid over the picture that a model was shown.
#pragma once

#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <memory>
#include <vector>

namespace headlight::figure {

struct PictureViewOptions {
    enum class What { heads, mean, max, rollout } what = What::heads;
    bool reveal = false;  ///< patches are covered where they get little, in place of a colour over them
};
inline constexpr EnumRow<PictureViewOptions::What> picture_panels[] = {
    {PictureViewOptions::What::heads, "heads", "Each head"},
    {PictureViewOptions::What::mean, "mean", "Mean of the heads"},
    {PictureViewOptions::What::max, "max", "Maximum of the heads"},
    {PictureViewOptions::What::rollout, "rollout", "Rollout"}};
constexpr const auto& enum_rows(PictureViewOptions::What) { return picture_panels; }

/// A panel for each head (or one for all of them together): how much `query` attends to each patch. The rows of all queries
/// are there, so that another one can be pointed at. Error when the model did not read a picture.
std::unique_ptr<Figure> picture_view(TracePtr, Layer, const std::vector<Head>&, Position query, const analyze::PatternOptions&,
                                     const PictureViewOptions&, const CancelToken& = {});

}  // namespace headlight::figure
