// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::io {

/// NumPy archive (.npz, stored zip64 of .npy version 1.0 members), readable by numpy.load. BF16 is widened to F32.
/// Metadata becomes a member `metadata.json` stored as a 0-d unicode array named "metadata".
/// Byte-identical for the same input (fixed time stamps). Atomic like write_safetensors.
void write_npz(const std::filesystem::path&, const std::vector<ArrayRef>&,
               const std::map<std::string, std::string>& metadata);

}  // namespace headlight::io
