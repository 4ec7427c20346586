// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace headlight::io {

/// A whole regular file, mapped read-only and private. The mapping lives as long as any pointer to it.
/// Errors (Error): missing, unreadable, a directory or device, empty.
class MappedFile {
public:
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path&);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const noexcept { return bytes_; }
    /// Lets the system take back the pages that lie wholly in this part of a mapped file; they are read again when they
    /// are looked at again. Only parts of open mappings are affected.
    static void release(std::span<const std::byte> part) noexcept;
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    MappedFile(std::filesystem::path, std::span<const std::byte>);
    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
};

}  // namespace headlight::io
