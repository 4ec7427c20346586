// SPDX-License-Identifier: GPL-3.0-or-later
// Part of every program: OpenMP's threads sleep as soon as they have nothing to do, unless the environment has OMP_WAIT_POLICY or
// GOMP_SPINCOUNT. By libgomp's default each of them looks for work for milliseconds before it sleeps, and where other programs
// want the cores, a pass takes several times as long (docs/benchmarks.md, What makes the difference).
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace {

char* in_environment(std::string_view name) {
    for (char** entry = environ; entry && *entry; ++entry)
        if (const std::string_view each = *entry; each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=')
            return *entry + name.size() + 1;
    return nullptr;
}

}  // namespace

/// In place of the C library's. libgomp has no function for this and reads its variables before main() and before anything here
/// could set them; to start the program again with another environment takes 0.13 s.
extern "C" char* getenv(const char* name) noexcept {
    static char passive[] = "passive";
    char* const found = in_environment(name);
    return !found && std::string_view(name) == "OMP_WAIT_POLICY" && !in_environment("GOMP_SPINCOUNT") ? passive : found;
}
