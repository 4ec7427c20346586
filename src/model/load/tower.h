// SPDX-License-Identifier: GPL-3.0-or-later
// The config.json of CLIP and SigLIP holds the configurations of two models, a text and a vision tower; that of a vision-language
// model the configuration of the language model that it contains.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::model {

struct TowerConfig {
    nlohmann::json json;
    std::vector<std::string> notes = {};  ///< for the load report: that this is a part of another model
};
/// The configuration of the tower that `path` names (headlight/model/locate.h), by default the text tower; of SigLIP the vision
/// tower. Of a vision-language model it is the language model's, with the values that its class has for fields that the file
/// leaves out. Configurations without towers are returned unchanged; Error if `path` names a tower of one.
TowerConfig config_of_tower(nlohmann::json config, const std::filesystem::path& path);

}  // namespace headlight::model
