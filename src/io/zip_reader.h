// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headlight::io {

/// One member of a zip archive, as the central directory describes it.
struct ZipEntry {
    std::string name;
    std::uint16_t method = 0;  ///< 0: stored, 8: deflated
    std::uint32_t crc = 0;
    std::uint64_t size = 0;            ///< unpacked
    std::span<const std::byte> bytes;  ///< as they lie in the archive, not copied

    bool is_stored() const noexcept { return method == 0; }
};

/// The members of an archive by name: PKWARE's APPNOTE 6.3 with zip64, one part, not encrypted. Every offset is checked
/// before anything is handed out. Errors name the file and the member (no archive, cut short, a member outside the
/// file, a name twice, encryption). `file` is only named in errors.
std::map<std::string, ZipEntry> read_zip(std::span<const std::byte> bytes, const std::filesystem::path& file);

/// True for what begins like a zip archive.
bool looks_like_zip(std::span<const std::byte> bytes) noexcept;

/// The content of a member, with its checksum verified. Error above `limit` bytes, for a method other than stored and
/// deflated, and for damaged content. Stored members are not copied: `room` is then left empty.
std::span<const std::byte> unpack(const ZipEntry&, const std::filesystem::path& file, std::uint64_t limit,
                                  std::vector<std::byte>& room);

}  // namespace headlight::io
