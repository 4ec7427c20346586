// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/model/config.h"

#include <nlohmann/json.hpp>

namespace headlight::cli {

/// Every field of a ModelConfig under its own name; enumerations as their words.
nlohmann::ordered_json config_json(const model::ModelConfig&);

}  // namespace headlight::cli
