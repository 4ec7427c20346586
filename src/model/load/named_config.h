// SPDX-License-Identifier: GPL-3.0-or-later
// A folder's config.json, which always names a family in the end: by its class or model type, or by what its tensors are.
#pragma once

#include "model/load/config_reader.h"

#include <filesystem>
#include <string>
#include <vector>

namespace headlight::model {

struct NamedConfig {
    ConfigReader config;
    std::vector<std::string> notes = {};  ///< for the load report: what the file does not say itself
};
/// The configuration of a folder, a file of weights in it, or one of its towers. Where config.json names neither a class nor a
/// model type, the tensors decide, if those of one family alone fit; a class that is not listed is of the family whose classes
/// begin like it. Errors: no such folder; an unknown architecture, with the family that is nearest by its tensors.
NamedConfig named_config(const std::filesystem::path&);

}  // namespace headlight::model
