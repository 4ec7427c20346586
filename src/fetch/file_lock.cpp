// SPDX-License-Identifier: GPL-3.0-or-later
#include "fetch/file_lock.h"

#include "headlight/base/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace headlight::fetch {
namespace {

/// Some programs remove their lock's file: a lock on an unlinked file excludes nobody.
bool still_named(int fd, const std::filesystem::path& file) {
    struct stat ours {
    }, named{};
    return ::fstat(fd, &ours) == 0 && ::stat(file.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& hub, const std::string& entry, const std::string& name, const CancelToken& cancel,
                   const std::function<void()>& waiting) {
    const std::filesystem::path folder = hub / ".locks" / entry, file = folder / (name + ".lock");
    std::filesystem::create_directories(folder);
    while (true) {
        cancel.throw_if_cancelled();
        if (fd_ < 0) fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd_ < 0)
            throw Error(ErrorFacts{.problem = "Cannot write to the cache",
                                   .file = file.string(),
                                   .found = std::generic_category().message(errno),
                                   .hint = "Set HF_HUB_CACHE to a folder that can be written"});
        if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
            if (still_named(fd_, file)) return;
            ::close(std::exchange(fd_, -1));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return;  // a file system without locks
        waited_ = true;
        if (waiting) waiting();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace headlight::fetch
