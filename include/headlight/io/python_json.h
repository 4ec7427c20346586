// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/json_file.h"

namespace headlight::io {

/// read_json() of a file that Python's json module wrote: NaN, Infinity and -Infinity are numbers there.
nlohmann::json read_python_json(const std::filesystem::path&);

}  // namespace headlight::io
