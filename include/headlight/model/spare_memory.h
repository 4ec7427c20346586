// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>

namespace headlight::model {

/// give_memory_back() (runtime.h) where the heap holds much that nobody uses: for the end of work of any kind. A later call puts
/// it off again.
void give_spare_memory_back(std::chrono::milliseconds after = std::chrono::seconds(5));

}  // namespace headlight::model
