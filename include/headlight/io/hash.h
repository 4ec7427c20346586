// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace headlight::io {

std::string sha256_hex(std::span<const std::byte>);
/// SHA-256 of a file's content in lower-case hex, as `sha256sum` prints it.
std::string sha256_file(const std::filesystem::path&);

/// Where hashes of large files are kept, one small file for each.
struct KeptHashes {
    std::filesystem::path folder{};                ///< empty: nothing is kept
    std::uint64_t least = std::uint64_t{1} << 26;  ///< bytes of a file whose hash is worth keeping
    std::chrono::seconds settled{2};  ///< since its last change: an earlier hash might be that of another change at the same time
};
/// The same, without reading the file if its hash is kept and its device, inode, size, time of writing and time of change are
/// those that it had then. What cannot be kept is computed again.
std::string sha256_file(const std::filesystem::path&, const KeptHashes&);

}  // namespace headlight::io
