// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

namespace headlight::io {

/// A file descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&&) = delete;
    int get() const noexcept { return fd_; }
    void reset(int fd) noexcept {
        close();
        fd_ = fd;
    }
    int release() noexcept {
        const int fd = fd_;
        fd_ = -1;
        return fd;
    }
    /// 0, or the errno of close(2).
    int close() noexcept;

private:
    int fd_;
};

struct OpenFile {
    Descriptor fd;
    std::uint64_t size = 0;
};

/// Opens a regular file for reading; never blocks on a pipe or a device. The Error names the kind of any other path.
OpenFile open_regular(const std::filesystem::path&);

}  // namespace headlight::io
