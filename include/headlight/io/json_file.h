// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headlight::io {

/// Parses a JSON file; Error names the file, line and column. Depth and size are limited (64 levels, 256 MiB).
/// A key that occurs twice in one object is an error: there is no telling which was meant.
nlohmann::json read_json(const std::filesystem::path&);

/// The same for text already in memory; `file` is only named in errors.
nlohmann::json parse_json(std::string_view text, const std::filesystem::path& file);

/// What an exception of the library says, without its own words in front ("[json.exception.type_error.302] ").
std::string plain_reason(const nlohmann::json::exception&);

/// Reads a whole small text file; Error when missing, not a regular file, or above `limit` bytes.
std::string read_text(const std::filesystem::path&, std::uintmax_t limit = 256u << 20);

}  // namespace headlight::io
