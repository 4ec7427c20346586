// SPDX-License-Identifier: GPL-3.0-or-later
// Arrays that are made while they are written, so that a file may be larger than memory.
#pragma once

#include "headlight/io/npz.h"
#include "headlight/io/safetensors.h"

#include <functional>

namespace headlight::io {

using PutBytes = std::function<void(std::span<const std::byte>)>;

/// Name, type and shape are known before the first byte, which both formats need.
struct ArrayStream {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    /// Puts the array's bytes, row-major and little-endian, in parts that end between two elements. Called when the arrays before
    /// it are written, and twice where a pipe takes an NPZ. What it throws ends the writing; the target is as before.
    std::function<void(const PutBytes&)> feed;
};

/// Arrays in memory, which must outlive them, as streams of one part. Error, with the name of the file, for bytes that do not fit
/// the shape.
std::vector<ArrayStream> streams_of(const std::filesystem::path&, const std::vector<ArrayRef>&);

/// The file that write_safetensors() makes of the same arrays; they are fed in the order of the file: wide elements first, then
/// by name. Error for an array of more or fewer bytes than its shape has.
void stream_safetensors(const std::filesystem::path&, const std::vector<ArrayStream>&,
                        const std::map<std::string, std::string>& metadata);
/// The file that write_npz() makes; fed in the order of their names.
void stream_npz(const std::filesystem::path&, const std::vector<ArrayStream>&, const std::map<std::string, std::string>& metadata,
                const std::vector<TextArrayRef>& texts = {});

}  // namespace headlight::io
