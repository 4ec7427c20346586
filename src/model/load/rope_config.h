// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary fields of config.json, in all spellings in use.
#pragma once

#include "model/load/config_reader.h"

#include <optional>

namespace headlight::model {

/// Fills rope, rope_dims and, where "rope_parameters" is given for kinds of layers ("full_attention",
/// "sliding_attention"), local_rope. Reads "rope_parameters", "rope_scaling", "rope_theta", "partial_rotary_factor".
/// `share`: rotated part of a head if the file has no such field; nullopt: the model rotates whole heads, and transformers
/// ignores the field unless the frequencies are scaled. Errors name unsupported scalings.
void read_rope(const ConfigReader&, ModelConfig&, std::optional<double> share = {}, double theta = 10000.0);

}  // namespace headlight::model
