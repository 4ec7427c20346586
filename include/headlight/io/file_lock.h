// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <filesystem>
#include <functional>
#include <string>

namespace headlight::io {

/// A lock between processes: flock() on a file, which is made and stays. The system lets go of it when a process ends, however it
/// ends. Where a file system knows no such locks nothing is locked.
class FileLock {
public:
    enum class Kind { exclusive, shared };
    /// Waits until the lock is free; `waiting` is called again and again meanwhile. Cancelled while waiting. Error with `hint`
    /// when the file cannot be made.
    FileLock(const std::filesystem::path& file, Kind, const std::string& hint, const CancelToken&,
             const std::function<void()>& waiting);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// Whether no other process has the lock, which is exclusive from then on; else it may be lost. False where nothing is
    /// locked.
    bool take_alone() noexcept;

private:
    int fd_ = -1;
};

}  // namespace headlight::io
