// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of view_specs(): one function for each room, beside its figures.
#pragma once

#include "headlight/figure/core/view_spec.h"

namespace headlight::figure {

std::vector<ViewSpec> pattern_view_specs();       ///< head, matrix, model, neuron
std::vector<ViewSpec> picture_view_specs();       ///< picture
std::vector<ViewSpec> focus_view_specs();         ///< focus, focus-1 to -10
std::vector<ViewSpec> heads_view_specs();         ///< head-scatter, clark-kinds, clark-entropy, clark-gradients
std::vector<ViewSpec> rollout_view_specs();       ///< aggregate, rollout and flow: maps and paths
std::vector<ViewSpec> prediction_view_specs();    ///< lens, mlp, attribution, refinement, predictions
std::vector<ViewSpec> contribution_view_specs();  ///< contribution-graph, drivers, neuron-map, experts
std::vector<ViewSpec> circuit_view_specs();       ///< head-circuit, composition, copy-suppression, importance
std::vector<ViewSpec> architecture_view_specs();  ///< architecture, kv-cache
std::vector<ViewSpec> compare_view_specs();       ///< compare-heads, compare-maps, compare-head, compare-layers
/// Gives the views of one run their differences of two.
void add_differences(std::vector<ViewSpec>&);
std::vector<ViewSpec> sparsity_view_specs();  ///< sparsity
std::vector<ViewSpec> reach_view_specs();     ///< reach
std::vector<ViewSpec> why_view_specs();       ///< why

}  // namespace headlight::figure
