// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/heads/head_table.h"
#include "headlight/analyze/pattern/aggregate.h"
#include "headlight/analyze/pattern/neuron_view.h"
#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/fields.h"
#include "headlight/figure/core/figure.h"

#include <memory>
#include <vector>

namespace headlight::figure {

using TracePtr = std::shared_ptr<const trace::Trace>;

/// Two token columns with one line a (head, query, key) (BertViz head view). The layer's patterns for
/// the active heads are computed at once (call from a worker).
std::unique_ptr<Figure> head_view(TracePtr, Layer, std::vector<Head> active, const analyze::PatternOptions&,
                                  const CancelToken& = {});

/// The same with one line a pair: the mean or maximum of heads of any layers. `layer` is the one whose heads can be
/// switched on and off, `active` those that are on.
std::unique_ptr<Figure> aggregate_head_view(TracePtr, Layer, std::vector<Head> active, const std::vector<HeadId>& of,
                                            analyze::Aggregate, const analyze::PatternOptions&, const CancelToken& = {});

/// One head, or several heads side by side, as a query x key map; `sums`: bars with the sums of rows and columns.
std::unique_ptr<Figure> matrix_view(TracePtr, std::vector<HeadId>, const analyze::PatternOptions&, bool sums = false,
                                    const CancelToken& = {});

/// The parts that a head's scores are the sum of, and the score, as maps of signed numbers beside each other.
std::unique_ptr<Figure> score_parts_view(TracePtr, std::vector<HeadId>, const CancelToken& = {});

/// Layers x heads of thumbnails: lines for short texts, pooled maps for long ones (BertViz's model view).
struct ModelViewOptions {
    enum class Cells { automatic, lines, maps } cells = Cells::automatic;
    bool mean = false;             ///< pooled by mean instead of maximum
    std::optional<HeadId> detail;  ///< this head's pane is open beside its cell
    /// One more column with the heads of each layer combined, one more row with the layers of each head combined.
    std::optional<analyze::Aggregate> together;
    std::vector<Layer> layers{};  ///< of `together`; empty: all
    std::vector<Head> heads{};
    bool operator==(const ModelViewOptions&) const = default;
};
inline constexpr EnumRow<ModelViewOptions::Cells> model_view_cells[] = {
    {ModelViewOptions::Cells::automatic, "auto", "Lines or maps by length"},
    {ModelViewOptions::Cells::lines, "lines", "Lines"},
    {ModelViewOptions::Cells::maps, "maps", "Maps"}};
constexpr const auto& enum_rows(ModelViewOptions::Cells) { return model_view_cells; }
std::unique_ptr<Figure> model_view(TracePtr, const analyze::PatternOptions&, const ModelViewOptions&, const CancelToken& = {});

/// Query, key, product, dot, position, softmax, value (BertViz's neuron view). Collapsed when there is no query.
struct NeuronViewOptions {
    bool sorted = false;  ///< dimensions by contribution to the strongest key instead of by index
    bool collapsed = false;
};
void describe(Describes<NeuronViewOptions> auto& r, const auto& field) {
    field(Field{"sorted", "Numbers by contribution", "dimensions by contribution instead of by index"}, r.sorted);
    field(Field{"collapsed", "Without the vectors", "without the vectors"}, r.collapsed);
}
std::unique_ptr<Figure> neuron_view(TracePtr, HeadId, Position query, const NeuronViewOptions&);

/// MeasureInfo::group of measures that are differences of two runs: drawn on a scale symmetric around 0.
inline constexpr const char* kDifferenceGroup = "B − A";
/// The height of a mosaic with square cells.
double mosaic_height(std::int64_t layers, std::int64_t heads, double width);
/// The dock's mosaic: layers x heads tinted by one measure.
/// `to_data`: the colours go from the smallest to the largest value there is, not over the measure's natural range.
std::unique_ptr<Figure> heads_mosaic(std::shared_ptr<const analyze::HeadTable>, std::string measure, std::vector<HeadId> dimmed,
                                     bool to_data = false);

}  // namespace headlight::figure
