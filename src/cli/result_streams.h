// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "cli/result_file.h"
#include "headlight/io/array_stream.h"

#include <filesystem>
#include <vector>

namespace headlight::cli {

/// The NPZ of ResultFile::write() with further arrays that are made while it is written.
void write_npz(const Result&, const std::vector<io::ArrayStream>&, const std::filesystem::path&);

}  // namespace headlight::cli
