// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"

#include <filesystem>
#include <vector>

namespace headlight::io {

/// What both writers ask of their input: names that are there once, bytes that fit the shape. Error names the array.
void check_arrays(const std::filesystem::path& file, const std::vector<ArrayRef>&, const std::string& reserved_name);

}  // namespace headlight::io
