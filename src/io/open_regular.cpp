// SPDX-License-Identifier: GPL-3.0-or-later
#include "io/open_regular.h"

#include "headlight/base/error.h"
#include "headlight/base/facts_of.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace headlight::io {
namespace {

std::string kind_of(mode_t mode) {
    if (S_ISDIR(mode)) return "a folder";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "something else";
}

}  // namespace

int Descriptor::close() noexcept {
    const int fd = release();
    return fd >= 0 && ::close(fd) != 0 ? errno : 0;
}

OpenFile open_regular(const std::filesystem::path& path) {
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0) {
        const int code = errno;
        throw Error(ErrorFacts{.problem = code == ENOENT ? "No such file" : "Cannot open the file",
                               .file = path.string(),
                               .found = code == ENOENT ? "" : std::generic_category().message(code)});
    }
    set_file_at_hand(path.string());
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0)
        throw Error(ErrorFacts{
            .problem = "Cannot read the file", .file = path.string(), .found = std::generic_category().message(errno)});
    if (!S_ISREG(info.st_mode))
        throw Error(ErrorFacts{
            .problem = "Not a file", .file = path.string(), .expected = "a regular file", .found = kind_of(info.st_mode)});
    return {std::move(fd), static_cast<std::uint64_t>(info.st_size)};
}

}  // namespace headlight::io
