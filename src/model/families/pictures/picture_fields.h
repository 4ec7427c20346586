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

/// num_register_tokens (0 where there are none), which stand behind [CLS].
void read_registers(const ConfigReader&, ModelConfig&, std::int64_t fallback);
/// read_picture_size(), and then the size that preprocessor_config.json beside the file gives pictures, if that is another: true.
/// For models that read pictures of any size. c.family says which steps such a file has.
bool read_input_size(const ConfigReader&, ModelConfig&, std::int64_t default_patch);

}  // namespace headlight::model
