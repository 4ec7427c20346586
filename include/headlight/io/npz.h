// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::io {

/// NumPy archive (.npz, stored zip of .npy version 1.0 members, zip64 where sizes need it), readable by numpy.load.
/// BF16 is widened to F32. Metadata becomes one JSON object, stored as the 0-d unicode array "metadata".
/// Byte-identical for the same input (fixed time stamps). Atomic like write_safetensors.
void write_npz(const std::filesystem::path&, const std::vector<ArrayRef>&,
               const std::map<std::string, std::string>& metadata);

}  // namespace headlight::io
