// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <filesystem>
#include <memory>
#include <string>

namespace headlight::model {

/// A configuration without weights, for a saved trace or attention computed elsewhere: it cannot be run. `origin`: the
/// file it comes from; `hash`: the model's hash as that file has it (may be empty).
std::shared_ptr<const Model> outline(ModelConfig, const std::filesystem::path& origin, std::string hash);

/// The same for an encoder-decoder model: its decoder, with the other two parts (Model::part).
std::shared_ptr<const Model> outline(ModelConfig decoder, ModelConfig encoder, ModelConfig cross,
                                     const std::filesystem::path& origin, std::string hash);

bool has_weights(const Model&) noexcept;  ///< false for an outline

}  // namespace headlight::model
