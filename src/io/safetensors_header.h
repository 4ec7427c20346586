// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headlight::io {

/// The checked content of one safetensors file. Views point into `bytes` and have no owner yet.
struct SafetensorsContent {
    std::vector<TensorView> tensors;  // in the order of their bytes
    std::map<std::string, std::string> metadata;
};

/// Layout: u64 little-endian header length, JSON header, data. `file` is only named in errors.
SafetensorsContent parse_safetensors(std::span<const std::byte> bytes, const std::filesystem::path& file);

/// Elements of a shape, or false when the product or the bytes it takes pass 2^63 - 1.
bool checked_byte_size(const std::vector<std::int64_t>& shape, std::int64_t element_size, std::int64_t& out) noexcept;

}  // namespace headlight::io
