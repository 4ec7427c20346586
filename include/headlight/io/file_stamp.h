// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace headlight::io {

/// Which file lies under a path: one that was overwritten or replaced has another stamp, though its size be the same.
struct FileStamp {
    std::filesystem::path file;
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type changed{};
    bool there = false;  ///< false: there is no such file, or it cannot be asked
    bool operator==(const FileStamp&) const = default;
};
inline FileStamp stamp_of(const std::filesystem::path& file) {
    FileStamp stamp{.file = file};
    std::error_code size, time;
    const auto bytes = std::filesystem::file_size(file, size);
    const auto changed = std::filesystem::last_write_time(file, time);
    if (!size && !time) stamp = {.file = file, .bytes = bytes, .changed = changed, .there = true};
    return stamp;
}

}  // namespace headlight::io
