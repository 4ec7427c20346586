// SPDX-License-Identifier: GPL-3.0-or-later
// Figures that are plots with axes. Like views.h: each factory may be slow (call it from a worker).
#pragma once

#include "headlight/analyze/circuit/importance.h"
#include "headlight/analyze/focus/focus.h"
#include "headlight/analyze/heads/head_table.h"
#include "headlight/base/job.h"
#include "headlight/figure/pattern/pattern_views.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace headlight::figure {

/// The Attention Focus Plots (Claus 2023): which of the ten, and what of the model they are about.
struct FocusFigureOptions {
    int figure = 0;                  ///< 1 to 10; 0: all ten on one page, under the text's tokens
    HeadId head;                     ///< figures 1 to 3; its layer: 7 to 10
    std::int64_t sort_idx = 0;       ///< figure 2: 0 is the largest target of a row, 1 the second …
    analyze::FocusOptions terms;     ///< figure 2
    bool probability = false;        ///< figure 1: softmax weights in place of scores
    bool include_first_row = false;  ///< figures 4 and 5 count row 0 of a causal model
    bool literal = false;            ///< figures 7, 9, 10: |z| / |h| in place of |u| / |h|
    bool log_magnitude = false;      ///< figures 7, 9 and 10
    std::int64_t bins = 50;          ///< figures 7 and 8
};
/// The options of its figure; of figure 0 all.
void describe(Describes<FocusFigureOptions> auto& r, const auto& field) {
    const auto has = [&](std::initializer_list<int> figures) {
        return r.figure == 0 || std::ranges::find(figures, r.figure) != figures.end();
    };
    if (has({2})) {
        field(analyze::kSortIdx, r.sort_idx);
        describe(r.terms, field);
    }
    if (has({1})) field(Field{"probability", "Weights, not scores", "softmax weights in place of scores"}, r.probability);
    if (has({4, 5, 6}))
        field(
            Field{"include-first-row", "Count the first token", "count row 0 of a causal model, which can only attend to itself"},
            r.include_first_row);
    if (has({7, 9, 10})) {
        field(Field{"literal", "Before W_O", "|z| / |h| in place of |u| / |h|"}, r.literal);
        field(Field{"log-magnitude", "Logarithmic magnitude", "logarithmic axis"}, r.log_magnitude);
    }
    if (has({7, 8})) field(Field{"bins", "Bins", "bins of the histograms"}.within(2, 500), r.bins);
}
/// Figures 1 to 3 are about the first text; 4 to 10 take the tokens of all texts together. Errors: no text; a figure,
/// head or sort_idx that does not exist.
std::unique_ptr<Figure> focus_figure(std::vector<TracePtr>, const FocusFigureOptions&, const CancelToken& = {},
                                     const Progress& = {});

/// One point a head: any measure against any other.
struct HeadScatterOptions {
    std::string x = "mean_distance", y = "entropy";  ///< ids of measures, or "layer", "head"
    std::string color = "layer";   ///< "layer", "head", "behaviour" (marker and colour of Clark 2019, section 6), or a measure
    std::int64_t texts = 1;        ///< the table holds means over these
    std::string title{}, words{};  ///< of a map: in place of the axes' names, and what it is of; both axes have the same unit
};
void describe(Describes<HeadScatterOptions> auto& r, const auto& field) {
    field(Field{"x", "To the right", "measure to the right"}.as(FieldKind::measure), r.x);
    field(Field{"y", "Upwards", "measure upwards"}.as(FieldKind::measure), r.y);
    field(Field{"color", "Colour", "what the colour shows"}.as(FieldKind::measure), r.color);
}
/// Error names a measure that does not exist, and those that do.
std::unique_ptr<Figure> head_scatter(std::shared_ptr<const analyze::HeadTable>, const HeadScatterOptions&);

/// Clark 2019, figure 2: average attention to kinds of tokens, by layer. Panels that this model or text has no measure
/// for are left out, and the note says so.
std::unique_ptr<Figure> clark_kinds(std::shared_ptr<const analyze::HeadTable>, std::int64_t texts = 1, bool causal = false);
/// Clark 2019, figure 4: entropy of each head, by layer; dashed: attention that is uniform over what a query may look
/// at. `uniform` in nats (uniform_entropy); NaN: the table's own
/// measure, if it has it.
std::unique_ptr<Figure> clark_entropy(std::shared_ptr<const analyze::HeadTable>, double uniform, std::int64_t texts = 1);
/// Clark 2019, figure 3: |d loss / d a_ij| of each head by what the key is, by layer.
std::unique_ptr<Figure> clark_gradients(const analyze::AttentionGradient&);
/// Mean over rows of ln of the number of keys a row may look at: ln n, in causal models mean of ln(i + 1) over i > 0.
/// NaN for a causal text of one token.
double uniform_entropy(std::int64_t tokens, bool causal);

}  // namespace headlight::figure
