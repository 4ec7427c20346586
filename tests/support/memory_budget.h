// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/memory.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace headlight::test {

/// Another budget while it lives. A byte: no weights fit that need a conversion, and no layers of a trace.
class Budget {
public:
    explicit Budget(std::int64_t bytes = 1) { set_memory_budget(bytes); }
    ~Budget() { set_memory_budget(0); }
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;
};

/// What this process holds of the machine's memory.
inline std::int64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::int64_t size = 0, resident = 0;
    in >> size >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace headlight::test
