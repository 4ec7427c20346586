// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of two runs: A, B and B - A. `words`: what B is.
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/figure/core/figure.h"
#include "headlight/figure/core/request.h"
#include "headlight/intervention/compare/comparison.h"
#include "headlight/intervention/compare/layers.h"

#include <memory>
#include <string>
#include <vector>

namespace headlight::figure {

/// A head's two maps and their difference on the axes of both texts, for painting: what is masked in every text that has the
/// pair, and what only the other text has, is not a number.
struct ComparedMaps {
    analyze::PatternAxes axes;  ///< positions of A; tokens of B alone have negative ones
    analyze::Matrix a, b, difference;
    std::vector<intervention::MergedUnit> queries, keys;
};
ComparedMaps compared_maps(const intervention::RunPair&, HeadId head, HeadId partner, const intervention::CompareOptions&);

/// A | B | B - A of one head.
std::unique_ptr<Figure> compare_head_view(const Beside&, HeadId, const intervention::CompareOptions&);
/// The differences of every head in one grid.
std::unique_ptr<Figure> compare_maps_view(const Beside&, const intervention::CompareOptions&, const std::string& view,
                                          const CancelToken&);
/// Heads by how much they differ: a mosaic, and a list sorted by the measure.
std::unique_ptr<Figure> compare_heads_view(const Beside&, const std::string& measure, const intervention::CompareOptions&,
                                           const CancelToken&, const Progress&);
/// Layer by layer: CKA or RSA of A's streams with B's, and with themselves.
std::unique_ptr<Figure> compare_layers_view(const Beside&, const intervention::LayerOptions&, const CancelToken&,
                                            const Progress&);

/// Differences of the views of patterns.
std::unique_ptr<Figure> matrix_difference(const Beside&, const ViewState&, const CancelToken&, const Progress&);
std::unique_ptr<Figure> head_difference(const Beside&, const ViewState&, const CancelToken&, const Progress&);
std::unique_ptr<Figure> model_difference(const Beside&, const ViewState&, const CancelToken&, const Progress&);

/// What of a view's table is compared: rows with equal `names` in A and B, by one column. A row of several kinds has no number in
/// some; those are left out.
struct ComparedColumn {
    std::vector<std::string> names;        ///< columns that together name a row
    std::vector<std::string> positions{};  ///< of these, positions of the text: B's stand for A's
    std::string value{};                   ///< the column of numbers
    std::string what{};                    ///< "Contribution to the logit"
    std::vector<std::string> shown{};      ///< columns whose words stand in front; the names where there are none
    std::string token_option{};            ///< the view's option for the explained token: B explains the token of A
    bool in_order = false;                 ///< rows in A's order, not by how much they differ
    bool parts = false;                    ///< rows are parts of the stream: one column names them in words
};
/// A, B and B - A of every row, A and B as bars on one scale.
std::unique_ptr<Figure> table_difference(const Beside&, const ViewState&, const ComparedColumn&, const CancelToken&,
                                         const Progress&);
/// Change of the probability, layer by layer, of what A predicts at each position in the end (or of the watched token).
std::unique_ptr<Figure> lens_difference(const Beside&, const ViewState&, const CancelToken&, const Progress&);

}  // namespace headlight::figure
