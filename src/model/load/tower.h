// SPDX-License-Identifier: GPL-3.0-or-later
// CLIP's config.json holds the configurations of two models, a text and a vision tower.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace headlight::model {

/// The configuration of the tower that `path` names (headlight/model/locate.h), by default the text tower. Configurations
/// without towers are returned unchanged; Error if `path` names a tower of one.
nlohmann::json config_of_tower(nlohmann::json config, const std::filesystem::path& path);

}  // namespace headlight::model
