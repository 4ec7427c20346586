// SPDX-License-Identifier: GPL-3.0-or-later
// The options of the matrix and of the model view; those of the head view are CombinedHeads.
#pragma once

#include "figure/core/shared_options.h"
#include "headlight/figure/pattern/pattern_views.h"

namespace headlight::figure {

struct MatrixRequest {
    CombinedHeads combined{};
    bool sums = false, parts = false;
};
void describe(Describes<MatrixRequest> auto& r, const auto& field) {
    describe(r.combined, field);
    field(kSums, r.sums);
    field(Field{"parts", "Parts of the score",
                "scores before the softmax and the parts that they are the sum of, in place of weights"},
          r.parts);
}

struct ModelRequest {
    ModelViewOptions::Cells cells = ModelViewOptions::Cells::automatic;
    bool mean = false;
    CombinedHeads combined{};
    std::string over_heads{};
};
void describe(Describes<ModelRequest> auto& r, const auto& field) {
    field(Field{"cells", "Cells", "what a cell holds"}, r.cells);
    field(Field{"mean", "Maps pooled by mean", "pool by mean instead of maximum"}, r.mean);
    describe(r.combined, field);
    field(Field{"over-heads", "Heads", "heads that are combined: 0,2-4 or all (default: all)"}.or_if_empty("0,2-4 or all"),
          r.over_heads);
}

}  // namespace headlight::figure
