// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/facts_of.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace headlight {
namespace {

/// "8.6 GB at once", of "… tried to allocate 8589934592 bytes …"; empty: the message does not tell.
std::string bytes_asked_for(std::string_view message) {
    constexpr std::string_view kBefore = "tried to allocate ";
    const std::size_t at = message.find(kBefore);
    if (at == std::string_view::npos) return {};
    const std::string rest(message.substr(at + kBefore.size(), 40));
    char* end = nullptr;
    const double bytes = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str() || !std::string_view(end).starts_with(" bytes")) return {};
    char text[48];
    std::snprintf(text, sizeof text, "no room for another %.*f MB", bytes < 1e7 ? 1 : 0, bytes / 1e6);
    return text;
}

}  // namespace

ErrorFacts facts_of(const std::exception& error) {
    if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->facts();
    const std::string_view what = error.what();
    if (what.find("CUDA") != std::string_view::npos && what.find("out of memory") != std::string_view::npos)
        return {.problem = "The GPU does not have enough memory",
                .hint = "Use a shorter text, a smaller model or the device cpu"};
    const bool of_libtorch =
        what.find("DefaultCPUAllocator: ") != std::string_view::npos || what.find("out of memory") != std::string_view::npos;
    if (of_libtorch || dynamic_cast<const std::bad_alloc*>(&error))
        return {.problem = "There is not enough memory",
                .found = bytes_asked_for(what),
                .hint = "Use a shorter text or a smaller model, or let the program keep less (--memory)"};
    return {.problem = std::string(what.substr(0, what.find('\n')))};
}

}  // namespace headlight
