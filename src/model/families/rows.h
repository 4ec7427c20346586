// SPDX-License-Identifier: GPL-3.0-or-later
// Short ways to write the rows of a weight map.
#pragma once

#include "model/families/family.h"

#include <string>
#include <vector>

namespace headlight::model {

/// Gain and bias of a norm of this width, "NAME.weight" and "NAME.bias".
inline void add_norm(WeightMap& map, Slot gain, Slot bias, const std::string& name, std::int64_t width, bool with_bias = true) {
    map.rows.push_back({gain, {name + ".weight"}, {width}});
    if (with_bias) map.rows.push_back({bias, {name + ".bias"}, {width}});
}

/// A Linear [out, in] and its bias [out].
inline void add_linear(WeightMap& map, Slot weight, Slot bias, const std::string& name, std::int64_t out, std::int64_t in,
                       bool with_bias) {
    map.rows.push_back({weight, {name + ".weight"}, {out, in}, Layout::out_in});
    if (with_bias) map.rows.push_back({bias, {name + ".bias"}, {out}});
}

}  // namespace headlight::model
