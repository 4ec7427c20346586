// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/job.h"

#include <filesystem>
#include <functional>
#include <string>

namespace headlight::fetch {

/// An exclusive lock between processes, in the words of huggingface_hub: flock() on HUB/.locks/ENTRY/NAME.lock, so that
/// its programs and this one wait for each other. The system lets go of it when a process ends, however it ends. The
/// file stays. Where a file system knows no such locks nothing is locked.
class FileLock {
public:
    /// Waits until the lock is free; `waiting` is called again and again meanwhile. Cancelled while waiting.
    FileLock(const std::filesystem::path& hub, const std::string& entry, const std::string& name, const CancelToken&,
             const std::function<void()>& waiting);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    bool waited() const noexcept { return waited_; }  ///< another process held it: the cache may have changed

private:
    int fd_ = -1;
    bool waited_ = false;
};

}  // namespace headlight::fetch
