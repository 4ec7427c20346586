// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

namespace headlight {

/// Bytes that this process can still take: the machine's available memory, or less where a control group (v1 or v2)
/// limits it. `root` is "/" but for tests. Largest int64 where the system does not tell.
std::int64_t available_memory(const std::filesystem::path& root = "/");

/// Bytes that the program may take for weights, traces and all that it keeps to be quick. By default half of what was
/// available when it was first asked. Thread-safe.
std::int64_t memory_budget();
/// 0: the default again.
void set_memory_budget(std::int64_t bytes);
/// Whether the budget is one that was set.
bool memory_budget_given();

/// Bytes that this process has of its own now: pages of mapped files, which the system can drop, are none of them. 0 where the
/// system does not tell.
std::int64_t own_memory();

}  // namespace headlight
