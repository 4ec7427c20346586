// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

namespace headlight::trace {

/// Bytes that this process can still take: the machine's available memory, or less where a control group (v1 or v2)
/// limits it. `root` is "/" but for tests. Largest int64 where the system does not tell.
std::int64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace headlight::trace
