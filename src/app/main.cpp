// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/cli/cli.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#ifdef HEADLIGHT_WITH_GUI
#include "headlight/model/runtime.h"
#include "ui/app.h"
#endif

namespace {

/// OpenBLAS maps a buffer for every thread before main() and tries for ever where the address space is limited. This runs
/// before the libraries start.
void check_address_space(int, char**, char** environment) {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    constexpr std::size_t each = std::size_t{136} << 20, beside = std::size_t{256} << 20;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    long threads = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    for (char** entry = environment; *entry; ++entry)
        if (std::strncmp(*entry, "OMP_NUM_THREADS=", 16) == 0) threads = std::clamp(std::atol(*entry + 16), 1L, threads);
    const std::size_t room = static_cast<std::size_t>(threads) * each + beside;
    void* probe = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe != MAP_FAILED) {
        ::munmap(probe, room);
        return;
    }
    static constexpr char message[] =
        "headlight: Not enough address space. Raise the limit (ulimit -v), or set OMP_NUM_THREADS=1\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message, sizeof message - 1);
    ::_exit(1);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = check_address_space;

}  // namespace

int main(int argc, char** argv) {
    headlight::cli::Frontend frontend;
#ifdef HEADLIGHT_WITH_GUI
    // Qt takes its own options (-style, -platform …) from the same argv.
    frontend.open_window = [&](const headlight::cli::WindowRequest& request) {
        headlight::model::start_runtime();
        return headlight::ui::run_window(argc, argv,
                                         {request.model,
                                          request.text,
                                          request.pair,
                                          request.load,
                                          request.image,
                                          request.view,
                                          {request.attention, request.layer, request.heads, request.query, request.key},
                                          request.announces});
    };
    frontend.write_gallery = [&](const std::string& folder) {
        headlight::model::start_runtime();
        return headlight::ui::write_gallery(argc, argv, folder);
    };
#endif
    return headlight::cli::run(argc, argv, frontend);
}
