// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "figure/core/axis_words.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"

#include <memory>

namespace headlight::figure {

/// What a head view draws, free of the model it came from.
struct HeadViewData {
    Layer layer;
    std::int64_t n_heads = 0;              ///< of the layer: one square each
    std::vector<Head> heads;               ///< whose weights are held, sorted
    std::vector<analyze::Matrix> weights;  ///< of each of these: [axes.queries, axes.keys]
    analyze::PatternAxes axes;
    AxisWords words;
    bool causal = true;
    /// The one map of several heads combined, of any layers: "mean of 8 heads of layer 4". `weights` then holds it
    /// alone, and `heads` says only which squares are on.
    QString together;
    /// B - A of two runs: `weights` are two maps, what is more in B and what is less, drawn in the colours of the signed scale
    /// and at full strength from `limit` on. `together` names them.
    bool difference = false;
    double limit = 1;
    /// What the two maps are called, what the scale is of, and what the figure shows, where they are not those of two runs.
    QString plus = QStringLiteral("more in B"), minus = QStringLiteral("less in B");
    QString signed_name = QStringLiteral("B − A of the weight"), signed_description = {};
    std::int64_t differences = 0;                            ///< pairs that both runs have
    QString layer_label;                                     ///< what sets the layer apart where layers differ: "local 512"
    QString attention;                                       ///< which one of an encoder-decoder model
    QString weight_name = QStringLiteral("softmax weight");  ///< with what was hidden or merged
};

std::unique_ptr<Figure> head_figure(HeadViewData);

}  // namespace headlight::figure
