// SPDX-License-Identifier: GPL-3.0-or-later
// What was computed from the weights alone and is worth keeping between runs of the program.
#pragma once

#include "headlight/model/model.h"

#include <filesystem>
#include <string_view>

namespace headlight::model {

/// CACHE/headlight, with CACHE $XDG_CACHE_HOME or $HOME/.cache; empty: there is none.
std::filesystem::path kept_folder();
/// Where a result about these weights is kept: models/HASH/NAME in kept_folder(), with the model's hash, so that it is found
/// again wherever the model lies and never for other weights. Empty: nowhere. Reads the weight files once for the hash. Files
/// there may be deleted at any time, and a file that cannot be read counts as none.
std::filesystem::path kept_file(const Model&, std::string_view name);

}  // namespace headlight::model
