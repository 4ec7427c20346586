// SPDX-License-Identifier: GPL-3.0-or-later
// What families that read pictures share: fields of config.json, rows and blocks.
#pragma once

#include "model/families/family.h"
#include "model/load/config_reader.h"

#include <string>
#include <string_view>

namespace headlight::model {

/// Fields that ViT's and CLIP's stacks share, with these defaults; learned positions, both ways.
ModelConfig picture_stack(const ConfigReader&, std::int64_t width, std::int64_t heads, std::int64_t hidden, double epsilon,
                          const std::string& activation);
/// The blocks of a stack that reads pictures, by what its configuration says.
Spec picture_spec(const ModelConfig&);

/// image_size (a number or [height, width]), patch_size, num_channels; and what follows from them: as many positions as whole
/// patches and class tokens (ModelConfig::class_tokens), no more and no less.
void read_picture_size(const ConfigReader&, ModelConfig&, std::int64_t default_patch);
/// After it: the size that preprocessor_config.json in the same folder gives pictures. For models that read pictures of any size.
/// The family says which steps such a file has where it does not.
void read_input_size(const ConfigReader&, ModelConfig&, std::string_view family);

/// num_register_tokens (0 where there are none), which stand after [CLS]: sets the class tokens.
void read_registers(const ConfigReader&, ModelConfig&, std::int64_t fallback);
/// Their row, if there are any.
void add_registers(WeightMap&, const ModelConfig&);
/// The two factors of the layers, whose modules' names begin with `at`. Before add_layers().
void add_layer_scale(WeightMap&, const ModelConfig&, const std::string& at);

}  // namespace headlight::model
