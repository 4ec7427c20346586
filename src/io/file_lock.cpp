// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/file_lock.h"

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

namespace headlight::io {
namespace {

/// Some programs remove their lock's file: a lock on an unlinked file excludes nobody.
bool still_named(int fd, const std::filesystem::path& file) {
    struct stat ours {
    }, named{};
    return ::fstat(fd, &ours) == 0 && ::stat(file.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

[[noreturn]] void fail(std::filesystem::path file, int code, const std::string& hint) {
    std::error_code ignored;
    while (!std::filesystem::exists(file, ignored) && file.has_relative_path()) file = file.parent_path();
    if (file.empty()) file = ".";
    throw Error(ErrorFacts{
        .problem = std::filesystem::is_directory(file, ignored) ? "Cannot write to the folder" : "Cannot lock the file",
        .file = file.string(),
        .found = std::generic_category().message(code),
        .hint = hint});
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& file, Kind kind, const std::string& hint, const CancelToken& cancel,
                   const std::function<void()>& waiting) {
    // A constructor that throws has no destructor: a wait that is cancelled closes the file here.
    struct Closing {
        int& fd;
        bool kept = false;
        ~Closing() {
            if (!kept && fd >= 0) ::close(std::exchange(fd, -1));
        }
    } closing{fd_};
    while (true) {
        cancel.throw_if_cancelled();
        if (fd_ < 0) {
            std::error_code code;
            if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), code);
            if (code) fail(file.parent_path(), code.value(), hint);
            // The mode that the umask leaves, as of every other file: users who share a folder share its locks.
            fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
            if (fd_ < 0 && errno == EACCES) fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);  // of another user
            if (fd_ < 0) fail(file, errno, hint);
        }
        if (::flock(fd_, (kind == Kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
            if (still_named(fd_, file)) {
                closing.kept = true;
                return;
            }
            ::close(std::exchange(fd_, -1));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) return;  // a file system without locks: nothing is held
        if (waiting) waiting();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

bool FileLock::take_alone() noexcept { return fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) == 0; }

FileLock::~FileLock() {
    if (fd_ >= 0) ::close(fd_);
}

}  // namespace headlight::io
