// SPDX-License-Identifier: GPL-3.0-or-later
// Checksums of the files that Headlight keeps for itself (stores, probes, caches, unfinished sweeps): a damaged one is an error,
// never another number. `hint` of an Error says what to do with the file.
#pragma once

#include "headlight/io/json_file.h"
#include "headlight/io/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

/// A JSON object as text, with the SHA-256 of the text before it as its last member "sha256".
std::string with_checksum(std::string json_object);
/// Whether with_checksum() gave this text, to the byte.
bool checksum_holds(std::string_view text);
/// Writes the object with its checksum; numbers that are not finite are null, bytes that are not UTF-8 are replaced.
void write_checked_json(const std::filesystem::path&, const nlohmann::ordered_json&, int indent = -1);
/// Error for a file that differs from what write_checked_json() wrote.
nlohmann::json read_checked_json(const std::filesystem::path&, const std::string& hint);

/// write_safetensors() with the metadata "sha256": of names, types, shapes, values and the other metadata.
void write_checked_safetensors(const std::filesystem::path&, const std::vector<ArrayRef>&,
                               std::map<std::string, std::string> metadata);
/// Error for a file that differs from what write_checked_safetensors() wrote.
TensorStore open_checked_safetensors(const std::filesystem::path&, const std::string& hint);

}  // namespace headlight::io
