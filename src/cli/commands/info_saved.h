// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/console.h"

#include <filesystem>

namespace headlight::cli {

/// `headlight info` of a saved trace: model and text, its stacks, and with `tensors` every array.
int info_of_saved(const std::filesystem::path&, bool json, bool tensors, const Console&);

}  // namespace headlight::cli
