// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace headlight::io {

/// Parses a JSON file; Error names the file, line and column. Depth and size are limited (64 levels, 256 MiB).
nlohmann::json read_json(const std::filesystem::path&);

/// Reads a whole small text file; Error when missing, not a regular file, or above `limit` bytes.
std::string read_text(const std::filesystem::path&, std::uintmax_t limit = 256u << 20);

}  // namespace headlight::io
