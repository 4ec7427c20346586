// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/atomic_file.h"

#include "headlight/base/error.h"
#include "headlight/base/working_for.h"
#include "io/open_regular.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <random>
#include <streambuf>
#include <system_error>
#include <thread>
#include <vector>

namespace headlight::io {
namespace {

namespace fs = std::filesystem;

constexpr int kWaitMilliseconds = 100;

[[noreturn]] void fail(const fs::path& target, const std::string& problem, int code) {
    ErrorFacts facts{.problem = problem, .file = target.string(), .found = std::generic_category().message(code)};
    if (code == ENOSPC || code == EDQUOT || code == EFBIG) facts.hint = "Free some space or choose another folder";
    throw Error(std::move(facts));
}

/// Buffered writes to a descriptor; remembers the first errno of a write. Waiting for a reader of a pipe ends when the work is
/// cancelled.
class DescriptorBuffer : public std::streambuf {
public:
    explicit DescriptorBuffer(int fd) : fd_(fd), buffer_(1u << 18) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
    int error() const noexcept { return error_; }
    bool cancelled() const noexcept { return cancelled_; }

protected:
    int_type overflow(int_type c) override {
        if (sync() != 0) return traits_type::eof();
        if (!traits_type::eq_int_type(c, traits_type::eof())) {
            *pptr() = traits_type::to_char_type(c);
            pbump(1);
        }
        return traits_type::not_eof(c);
    }
    std::streamsize xsputn(const char* data, std::streamsize size) override {
        if (size <= epptr() - pptr()) {
            traits_type::copy(pptr(), data, static_cast<std::size_t>(size));
            pbump(static_cast<int>(size));
            return size;
        }
        return sync() == 0 && write_all(data, static_cast<std::size_t>(size)) ? size : 0;
    }
    /// A pipe has no places.
    pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
        if (sync() != 0) return pos_type(off_type(-1));
        return pos_type(::lseek(fd_, offset,
                                from == std::ios_base::beg   ? SEEK_SET
                                : from == std::ios_base::cur ? SEEK_CUR
                                                             : SEEK_END));
    }
    pos_type seekpos(pos_type place, std::ios_base::openmode which) override {
        return seekoff(off_type(place), std::ios_base::beg, which);
    }
    int sync() override {
        const bool good = write_all(pbase(), static_cast<std::size_t>(pptr() - pbase()));
        setp(buffer_.data(), buffer_.data() + buffer_.size());
        return good ? 0 : -1;
    }

private:
    bool write_all(const char* data, std::size_t size) {
        while (size > 0 && error_ == 0) {
            const ssize_t put = ::write(fd_, data, size);
            if (put < 0) {
                if (errno == EAGAIN)
                    wait();
                else if (errno != EINTR)
                    error_ = errno;
            } else {
                data += put;
                size -= static_cast<std::size_t>(put);
            }
        }
        return error_ == 0;
    }

    void wait() {
        struct pollfd room {
            .fd = fd_, .events = POLLOUT, .revents = 0
        };
        ::poll(&room, 1, kWaitMilliseconds);
        cancelled_ = WorkingFor::token().cancelled();
        if (cancelled_) error_ = ECANCELED;
    }

    int fd_;
    int error_ = 0;
    bool cancelled_ = false;
    std::vector<char> buffer_;
};

/// Runs `write` into the descriptor and reports the error of the disk, not the writer's message about it.
void fill(int fd, const fs::path& target, const std::function<void(std::ostream&)>& write) {
    DescriptorBuffer buffer(fd);
    std::ostream out(&buffer);
    out.imbue(std::locale::classic());
    try {
        write(out);
        out.flush();
    } catch (...) {
        if (buffer.error() == 0) throw;
    }
    if (buffer.cancelled()) throw Cancelled();
    if (buffer.error() != 0) fail(target, "Cannot write the file", buffer.error());
    if (!out) throw Error(ErrorFacts{.problem = "Cannot write the file", .file = target.string()});
}

/// Where the bytes shall end up: links are followed, so that a link stays a link.
fs::path real_target(const fs::path& target) {
    if (target.filename().empty() || target.filename() == "." || target.filename() == "..")
        throw Error(ErrorFacts{.problem = "Cannot write the file", .file = target.string(), .expected = "a file name"});
    std::error_code code;
    if (fs::is_symlink(target, code)) {
        const fs::path followed = fs::weakly_canonical(target, code);
        if (!code) return followed;
    }
    return target;
}

std::string random_suffix() {
    static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device source;
    std::string text;
    for (int i = 0; i < 8; ++i) text += kLetters[source() % kLetters.size()];
    return text;
}

/// A new file beside the target that is gone at the end of the scope unless it was renamed over the target.
class Temporary {
public:
    explicit Temporary(const fs::path& target) : target_(target) {
        for (int attempt = 0; attempt < 100; ++attempt) {
            path_ = target;
            path_.replace_filename("." + target.stem().string() + "." + random_suffix() + target.extension().string());
            const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (fd >= 0) {
                fd_.reset(fd);
                created_ = true;
                return;
            }
            if (errno != EEXIST) fail(target, "Cannot create the file", errno);
        }
        fail(target, "Cannot create the file", EEXIST);
    }
    ~Temporary() {
        if (created_) ::unlink(path_.c_str());
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    int fd() const noexcept { return fd_.get(); }

    void commit() {
        struct stat before {};
        if (::stat(target_.c_str(), &before) == 0) ::fchmod(fd_.get(), before.st_mode & 07777);
        if (::fsync(fd_.get()) != 0) fail(target_, "Cannot write the file", errno);
        if (const int code = fd_.close(); code != 0) fail(target_, "Cannot write the file", code);
        if (::rename(path_.c_str(), target_.c_str()) != 0) fail(target_, "Cannot replace the file", errno);
        created_ = false;
    }

private:
    fs::path target_;
    fs::path path_;
    Descriptor fd_;
    bool created_ = false;
};

/// A folder or a file that may not be written is refused before any work; true for devices and pipes (/dev/stdout),
/// which take the bytes directly.
bool check_target(const fs::path& target) {
    struct stat info {};
    if (::stat(target.c_str(), &info) != 0) return false;
    if (S_ISDIR(info.st_mode)) fail(target, "Cannot write the file", EISDIR);
    if (!S_ISREG(info.st_mode)) return true;
    if (::access(target.c_str(), W_OK) != 0) fail(target, "Cannot replace the file", errno);
    return false;
}

/// A pipe without a reader is waited for.
Descriptor open_stream(const fs::path& target) {
    while (true) {
        const int fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0) return Descriptor(fd);
        const int code = errno;
        std::error_code ignored;
        if (code != ENXIO || !fs::is_fifo(target, ignored)) fail(target, "Cannot open for writing", code);
        WorkingFor::token().throw_if_cancelled();
        std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMilliseconds));
    }
}

}  // namespace

void write_atomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
    const fs::path target = real_target(path);
    if (check_target(target)) {
        Descriptor stream = open_stream(target);
        fill(stream.get(), target, write);
        if (const int code = stream.close(); code != 0) fail(target, "Cannot write the file", code);
        return;
    }
    Temporary temporary(target);
    fill(temporary.fd(), target, write);
    temporary.commit();
}

void write_atomically(const fs::path& target, std::string_view content) {
    write_atomically(target, [&](std::ostream& out) { out.write(content.data(), static_cast<std::streamsize>(content.size())); });
}

void check_writable(const fs::path& path) {
    const fs::path target = real_target(path);
    if (check_target(target)) return;
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    struct stat info {};
    if (::stat(folder.c_str(), &info) != 0) fail(target, "Cannot create the file", errno);
    if (!S_ISDIR(info.st_mode)) fail(target, "Cannot create the file", ENOTDIR);
    if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(target, "Cannot create the file", errno);
}

}  // namespace headlight::io
