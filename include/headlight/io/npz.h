// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headlight::io {

/// Texts of a shape in UTF-8, row-major, not owned.
struct TextArrayRef {
    std::string name;
    std::vector<std::int64_t> shape;
    std::span<const std::string> texts;
};

/// NumPy archive (.npz, stored zip of .npy version 1.0 members, zip64 where sizes need it), readable by numpy.load.
/// BF16 is widened to F32. Texts become NumPy's fixed-width unicode, as wide as the longest. Metadata becomes one JSON object,
/// stored as the 0-d unicode array "metadata". Byte-identical for the same input (fixed time stamps). Atomic like
/// write_safetensors.
void write_npz(const std::filesystem::path&, const std::vector<ArrayRef>&, const std::map<std::string, std::string>& metadata,
               const std::vector<TextArrayRef>& texts = {});

/// What an archive holds. Stored row-major members are not copied; compressed ones and Fortran order are.
struct NpzContent {
    std::map<std::string, TensorView> arrays;               ///< by the member's name without ".npy"
    std::map<std::string, std::vector<std::string>> texts;  ///< arrays of NumPy's unicode or bytes, flat, as UTF-8
    std::map<std::string, std::vector<std::int64_t>> text_shapes;
};

/// Reads .npz as numpy.savez and savez_compressed write it (.npy 1.0 to 3.0, little-endian). Members of other types
/// (objects, complex, dates) are refused by name: an array of Python objects is a pickle. Errors name file and member.
NpzContent read_npz(const std::filesystem::path&);

}  // namespace headlight::io
