// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/model.h"

#include <filesystem>
#include <memory>
#include <string>

namespace headlight::model {

/// A model of which only the configuration is known, as a saved trace or attention computed elsewhere leaves it: no
/// weights, nothing can be run. `origin` is what it came from, `hash` what that says of the model (may be empty).
std::shared_ptr<const Model> outline(ModelConfig, const std::filesystem::path& origin, std::string hash);

/// The same of an encoder-decoder model: its decoder, with the two other parts (Model::part).
std::shared_ptr<const Model> outline(ModelConfig decoder, ModelConfig encoder, ModelConfig cross,
                                     const std::filesystem::path& origin, std::string hash);

bool has_weights(const Model&) noexcept;  ///< false for an outline

}  // namespace headlight::model
