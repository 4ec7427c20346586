// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/working_for.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::corpus {

/// The bytes of a regular file, decompressed if its name ends in .gz or .zst. Texts are read again when a run is resumed, so
/// pipes and devices are refused.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Fills the front of `buffer`; 0: the end. Error for a damaged or truncated file.
    virtual std::size_t read(char* buffer, std::size_t size) = 0;
    static std::unique_ptr<ByteSource> open(const std::filesystem::path&);
};
/// The path without .gz or .zst.
std::filesystem::path unpacked_name(const std::filesystem::path&);

/// Lines of a file without their ends (LF or CR LF) and without a byte order mark at its beginning.
class LineReader {
public:
    static constexpr std::size_t kLongest = std::size_t{64} << 20;
    explicit LineReader(const std::filesystem::path&, CancelToken cancel = WorkingFor::token());

    /// False: the end. Cancelled within a line, however long it is.
    bool next(std::string& line);
    std::int64_t number() const noexcept { return number_; }  ///< of the line that next() gave, from 1
    bool cut() const noexcept { return cut_; }                ///< it is longer than kLongest; the rest is dropped
    const std::filesystem::path& file() const noexcept { return file_; }
    std::string place() const { return "line " + std::to_string(number_); }

private:
    std::string_view more();  ///< the next available bytes of the file; empty: the end

    std::filesystem::path file_;
    CancelToken cancel_;
    std::unique_ptr<ByteSource> source_;
    std::vector<char> buffer_;
    std::size_t at_ = 0, end_ = 0;
    std::int64_t number_ = 0;
    bool cut_ = false;
};

}  // namespace headlight::corpus
