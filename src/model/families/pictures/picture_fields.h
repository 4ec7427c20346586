// SPDX-License-Identifier: GPL-3.0-or-later
// Picture fields of config.json.
#pragma once

#include "model/load/config_reader.h"

#include <string>

namespace headlight::model {

/// Fields that ViT's and CLIP's stacks share, with these defaults; learned positions.
ModelConfig picture_stack(const ConfigReader&, std::int64_t width, std::int64_t heads, std::int64_t hidden, double epsilon,
                          const std::string& activation);

/// image_size (a number or [height, width]), patch_size, num_channels; and what follows from them: as many positions as
/// patches and class tokens, no more and no less.
void read_picture_size(const ConfigReader&, ModelConfig&, std::int64_t default_patch, std::int64_t class_tokens);

}  // namespace headlight::model
