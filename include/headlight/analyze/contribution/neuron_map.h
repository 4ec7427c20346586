// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/analyze/pattern/pattern_view.h"
#include "headlight/base/enum_table.h"
#include "headlight/base/ids.h"
#include "headlight/base/job.h"
#include "headlight/trace/trace.h"

#include <cstdint>
#include <vector>

namespace headlight::analyze {

/// In which order the neurons of a map stand.
enum class NeuronOrder {
    strength,   ///< root mean square over the text of |m_i| |v_i|, largest first
    peak,       ///< by the token at which |m_i| is largest
    clustered,  ///< neurons that move together beside each other
    index,
};
inline constexpr EnumRow<NeuronOrder> neuron_orders[] = {
    {NeuronOrder::strength, "strength", "Strongest first", "strongest first"},
    {NeuronOrder::peak, "peak", "By the token of the largest", "by the token of the largest coefficient"},
    {NeuronOrder::clustered, "clustered", "Clustered", "neurons that move together stand together"},
    {NeuronOrder::index, "number", "By number", "by number"}};
constexpr const auto& enum_rows(NeuronOrder) { return neuron_orders; }

/// Coefficients m of some neurons of a layer at every token (Geva 2021, section 2).
struct NeuronMap {
    Layer layer;
    std::vector<Neuron> neurons;   ///< in the order asked for
    std::vector<double> strength;  ///< of each: root mean square over the text of |m_i| |v_i|
    Matrix coefficients;           ///< [neuron, token]
};

/// The `rows` strongest neurons (0: all) of a layer. Clustered: agglomerative, average linkage on the cosine of the
/// coefficients along the text (Müllner 2011, nearest-neighbour chains), leaves in the order of the tree with the
/// stronger branch first; at most `most_clustered` neurons.
/// Errors: a layer that does not exist, more neurons than can be clustered.
inline constexpr std::int64_t most_clustered = 4096;
NeuronMap neuron_map(const trace::Trace&, Layer, NeuronOrder, std::int64_t rows = 0, const CancelToken& = {});

/// Order of the leaves of such a tree over the rows of a matrix: [row] -> row index.
std::vector<std::int64_t> clustered_order(const Matrix& rows, const std::vector<double>& weight, const CancelToken& = {});

}  // namespace headlight::analyze
