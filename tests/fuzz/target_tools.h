// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "tests/support/temp_folder.h"

#include <cstdio>
#include <cstdlib>

namespace headlight::test {

inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

/// One file that is written anew for every input: the readers open files, not memory.
inline std::filesystem::path written(std::string_view name, std::string_view bytes) {
    static const TempFolder folder;
    return folder.write(name, bytes);
}

}  // namespace headlight::test
