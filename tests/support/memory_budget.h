// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/memory.h"

namespace headlight::test {

/// Another budget while it lives. A byte: no weights fit that need a conversion, and no layers of a trace.
class Budget {
public:
    explicit Budget(std::int64_t bytes = 1) { set_memory_budget(bytes); }
    ~Budget() { set_memory_budget(0); }
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;
};

}  // namespace headlight::test
