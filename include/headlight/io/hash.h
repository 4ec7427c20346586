// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace headlight::io {

std::string sha256_hex(std::span<const std::byte>);
/// SHA-256 of a file's content in lower-case hex, as `sha256sum` prints it.
std::string sha256_file(const std::filesystem::path&);

}  // namespace headlight::io
