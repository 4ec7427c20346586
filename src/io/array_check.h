// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/array_stream.h"

#include <filesystem>
#include <ostream>
#include <vector>

namespace headlight::io {

/// What both writers ask of their input: names that are there once, shapes of a size. Error names the array.
void check_arrays(const std::filesystem::path& file, const std::vector<ArrayStream>&, const std::string& reserved_name);

/// Feeds an array and counts. Error for another number of bytes than its shape has.
void feed_whole(const std::filesystem::path& file, const ArrayStream&, const PutBytes&);

/// Writes to a stream that may be a full disk: ends the work that makes the bytes too. Error.
void put_bytes(std::ostream&, std::span<const std::byte>);
inline void put_bytes(std::ostream& out, const std::string& text) { put_bytes(out, std::as_bytes(std::span(text))); }

}  // namespace headlight::io
