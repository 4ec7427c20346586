// SPDX-License-Identifier: GPL-3.0-or-later
// Rotation fields of config.json, under all the spellings that are in use.
#pragma once

#include "model/load/config_reader.h"

namespace headlight::model {

/// Fills rope, rope_dims and, where "rope_parameters" is given for kinds of layers ("full_attention",
/// "sliding_attention"), local_rope. Reads "rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor".
/// `share`: rotated part of a head where the file does not say. Every scaling that is not built is refused by name.
void read_rope(const ConfigReader&, ModelConfig&, double share = 1.0, double theta = 10000.0);

}  // namespace headlight::model
