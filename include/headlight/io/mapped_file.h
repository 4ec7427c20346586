// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
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
    /// Lets the system take back the pages that lie wholly in this part of a mapped file; they are read from the file
    /// again when they are needed. Only parts of open mappings are affected.
    static void release(std::span<const std::byte> part) noexcept;
    const std::filesystem::path& path() const noexcept { return path_; }

    // A file that is cut short while it is open: reading what is gone raises SIGBUS. The next two may be called in its handler.
    /// The open file that an address lies in; nullptr: none.
    static const MappedFile* holding(const void* address) noexcept;
    /// Puts zeros in place of the file from this address on, so that whoever reads them goes on. False: that was not possible.
    bool blank_from(const void* address) const noexcept;
    /// How often that happened so far: results of a time in which it grew are made of zeros.
    static int blanked() noexcept;
    /// What blanked() was when it last happened to an open file of this path; 0: it did not.
    static int blanked(const std::filesystem::path&);
    /// The path of the open file to which it happened last; empty: none.
    static std::filesystem::path damaged();

private:
    MappedFile(std::filesystem::path, std::span<const std::byte>);
    std::filesystem::path path_;
    std::span<const std::byte> bytes_;
    mutable std::atomic<int> damaged_ = 0;  ///< blanked() when it happened last; 0: it did not
};

}  // namespace headlight::io
