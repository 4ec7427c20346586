// SPDX-License-Identifier: GPL-3.0-or-later
// One folder, two models: config.json of CLIP holds the configurations of a text and a vision tower.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>

namespace headlight::model {

/// What `path` opens of a config.json with towers, as the configuration of a model of its own: the tower that the path
/// names (headlight/model/locate.h), else the text's. Any other configuration as it is; Error when a tower of it is asked for.
nlohmann::json config_of_tower(nlohmann::json config, const std::filesystem::path& path);

}  // namespace headlight::model
