// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/facts_of.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <utility>

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

std::string& file_at_hand() {
    thread_local std::string file;
    return file;
}

/// What a person can be told of an exception of the standard library; empty: it is not one.
std::string problem_of_library(const std::exception& error) {
    if (dynamic_cast<const std::out_of_range*>(&error)) return "A number points outside what is there";
    if (dynamic_cast<const std::length_error*>(&error)) return "A size is larger than any memory";
    const std::string_view what = error.what();
    const bool in_its_words = what.find("std::") != std::string_view::npos || what.find("::_M_") != std::string_view::npos ||
                              what.find("basic_") != std::string_view::npos || what.starts_with("bad_") ||
                              what.starts_with("bad ");
    if (dynamic_cast<const std::logic_error*>(&error) || dynamic_cast<const std::bad_cast*>(&error) || in_its_words)
        return "A value is not what was expected";
    return {};
}

}  // namespace

void set_file_at_hand(const std::string& file) { file_at_hand() = file; }

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
    const std::string& file = file_at_hand();
    if (const auto* of_system = dynamic_cast<const std::system_error*>(&error)) {
        // Others are of threads and locks: no file has a part in them.
        const auto* of_files = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
        return {.problem = of_files ? "The system refused an operation on a file" : "The system refused an operation",
                .file = of_files ? of_files->path1().string() : "",
                .found = of_system->code().message()};
    }
    if (std::string problem = problem_of_library(error); !problem.empty())
        return {.problem = std::move(problem),
                .hint = file.empty() ? "This is a fault of Headlight: please report it with the command or the steps"
                                     : "The file that was read last is " + file +
                                           ": if it is damaged, get it again; otherwise please report this fault of Headlight"};
    if (constexpr std::string_view kJson = "[json.exception."; what.starts_with(kJson))
        return {.problem = "A value of a JSON file has another type than expected",
                .file = file,
                .found = std::string(what.substr(std::min(what.find("] ") + 2, what.size())))};
    return {.problem = std::string(what.substr(0, what.find('\n')))};
}

ErrorFacts facts_of_current_exception() {
    try {
        throw;
    } catch (const std::exception& error) {
        return facts_of(error);
    } catch (...) {
        return {.problem = "A library failed without saying why"};
    }
}

}  // namespace headlight
