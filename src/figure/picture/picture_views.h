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
    enum class Over { colour, reveal } over = Over::colour;  ///< reveal: patches are covered where they get little
};
inline constexpr EnumRow<PictureViewOptions::What> picture_panels[] = {
    {PictureViewOptions::What::heads, "heads", "Each head"},
    {PictureViewOptions::What::mean, "mean", "Mean of the heads"},
    {PictureViewOptions::What::max, "max", "Maximum of the heads"},
    {PictureViewOptions::What::rollout, "rollout", "Rollout"}};
constexpr const auto& enum_rows(PictureViewOptions::What) { return picture_panels; }
inline constexpr EnumRow<PictureViewOptions::Over> over_pictures[] = {
    {PictureViewOptions::Over::colour, "colour", "A colour"},
    {PictureViewOptions::Over::reveal, "reveal", "Only what is attended to"}};
constexpr const auto& enum_rows(PictureViewOptions::Over) { return over_pictures; }
void describe(Describes<PictureViewOptions> auto& r, const auto& field) {
    field(Field{"of", "Panels", "a panel for each head, or one of their mean, their maximum, or the rollout up to the layer"},
          r.what);
    field(Field{"over", "Over the picture", "weights as a colour over the grey picture, or as how much of the picture is seen"},
          r.over);
}

/// A panel for each head (or one for all of them together): how much `query` attends to each patch. The rows of all queries
/// are there, so that another one can be pointed at. Error when the model did not read a picture.
std::unique_ptr<Figure> picture_view(TracePtr, Layer, const std::vector<Head>&, Position query, const analyze::PatternOptions&,
                                     const PictureViewOptions&, const CancelToken& = {});

}  // namespace headlight::figure
