// SPDX-License-Identifier: GPL-3.0-or-later
// Short ways to write the rows of a weight map. Names of modules have no ".weight" and no ".bias".
#pragma once

#include "model/families/family.h"

#include <string>
#include <vector>

namespace headlight::model {

/// A norm of this width; `gain` is its slot, the bias has the next one.
void add_norm(WeightMap&, Slot gain, const std::string& name, std::int64_t width, bool with_bias = true);
/// A Linear [out, in]; `weight` is its slot, the bias [out] has the next one.
void add_linear(WeightMap&, Slot weight, const std::string& name, std::int64_t out, std::int64_t in, bool with_bias = true);

/// Modules of one layer; empty where the family has none.
struct LayerNames {
    std::string at;                ///< stands in front of all the others: "h.#."
    std::string ln1, ln2 = {};     ///< no ln2: the MLP reads what attention reads
    std::vector<std::string> qkv;  ///< q, k and v, or the one matrix that holds all three (WeightMap::qkv)
    std::string o;
    std::string mlp_in, mlp_up = {}, mlp_out;
    bool o_bias = true, norm_bias = true;  ///< whether q, k, v and the MLP have biases, the configuration says
};
/// Rows of every layer, Linear layout.
void add_layers(WeightMap&, const ModelConfig&, const LayerNames&);

}  // namespace headlight::model
