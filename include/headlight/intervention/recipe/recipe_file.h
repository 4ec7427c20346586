// SPDX-License-Identifier: GPL-3.0-or-later
// Recipes as JSON, one line an edit (docs/recipe.md).
#pragma once

#include "headlight/intervention/recipe/recipe.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight::intervention {

/// Ends with a line break; parse_recipe() reads it as an equal recipe.
std::string recipe_json(const Recipe&);
/// Error names `file`, the field and what is expected: another version, an unknown field, an edit that cannot be read.
Recipe parse_recipe(std::string_view json, const std::filesystem::path& file);
Recipe read_recipe(const std::filesystem::path&);
void write_recipe(const Recipe&, const std::filesystem::path&);  ///< atomically

}  // namespace headlight::intervention
