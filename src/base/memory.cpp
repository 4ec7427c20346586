// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/memory.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

namespace headlight {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
std::atomic<std::int64_t> given_budget = 0;  ///< 0: none was given

/// A file that holds one number; "max" and a missing file give nothing.
std::optional<std::int64_t> number_in(const fs::path& file) {
    std::ifstream in(file);
    std::int64_t value = 0;
    if (!(in >> value)) return std::nullopt;
    return value;
}

/// The number behind `key` in lines of "key number".
std::int64_t field_in(const fs::path& file, const std::string& key) {
    std::ifstream in(file);
    std::string word;
    while (in >> word) {
        std::int64_t value = 0;
        if (word == key && in >> value) return value;
        in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return -1;
}

/// What one control group leaves: its limit less what is in use and cannot be dropped.
std::int64_t left_in_group(const fs::path& folder, const char* limit_name, const char* usage_name, const char* cache_field) {
    const auto limit = number_in(folder / limit_name);
    const auto usage = number_in(folder / usage_name);
    if (!limit || !usage) return kUnlimited;
    const std::int64_t cache = std::max<std::int64_t>(0, field_in(folder / "memory.stat", cache_field));
    return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *usage - cache));
}

/// Every group from the process's own up to the root of the hierarchy can hold a limit.
std::int64_t left_in_groups(const fs::path& mount, const std::string& group, bool v2) {
    std::int64_t left = kUnlimited;
    fs::path folder = mount / fs::path(group).relative_path();
    for (int depth = 0; depth < 64; ++depth) {
        left =
            std::min(left, v2 ? left_in_group(folder, "memory.max", "memory.current", "inactive_file")
                              : left_in_group(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
        if (folder == mount || !folder.has_relative_path()) break;
        folder = folder.parent_path();
    }
    return left;
}

}  // namespace

std::int64_t available_memory(const fs::path& root) {
    std::int64_t left = kUnlimited;
    const std::int64_t kib = field_in(root / "proc/meminfo", "MemAvailable:");
    if (kib >= 0) left = kib * 1024;
    std::ifstream groups(root / "proc/self/cgroup");
    std::string line;
    while (std::getline(groups, line)) {  // "hierarchy:controllers:/path"
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (controllers.empty()) left = std::min(left, left_in_groups(root / "sys/fs/cgroup", group, true));
        std::istringstream names(controllers);
        for (std::string name; std::getline(names, name, ',');) {
            if (name == "memory") left = std::min(left, left_in_groups(root / "sys/fs/cgroup/memory", group, false));
        }
    }
    return left;
}

std::int64_t memory_budget() {
    if (const std::int64_t set = given_budget; set > 0) return set;
    static const std::int64_t half = available_memory() / 2;
    return half;
}

void set_memory_budget(std::int64_t bytes) { given_budget = bytes; }

bool memory_budget_given() { return given_budget > 0; }

std::int64_t own_memory() { return std::max<std::int64_t>(0, field_in("/proc/self/status", "RssAnon:")) * 1024; }

}  // namespace headlight
