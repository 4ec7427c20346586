// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/runtime.h"

#include "headlight/base/error.h"
#include "headlight/model/blas_kernels.h"
#include "headlight/model/spare_memory.h"
#include "model/arithmetic/device.h"
#include "model/arithmetic/large_tensors.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/csrc/api/include/torch/version.h>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

/// LibTorch makes a pool of threads on every thread that computes, nothing here uses it, and pthreadpool waits for ever for a
/// thread that the system refused. This definition stands before the library's: a pool of one is the caller alone.
extern "C" [[gnu::visibility("default"), gnu::used]] struct pthreadpool* pthreadpool_create(std::size_t);
struct pthreadpool* pthreadpool_create(std::size_t) {
    using Create = struct pthreadpool*(std::size_t);
    const auto create = reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthreadpool_create"));
    return create ? create(1) : nullptr;
}

namespace headlight::model {
namespace {

/// Cores this process may run on, counting the two threads of one core once.
int physical_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
        std::string siblings;
        if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
        cores.insert(siblings);
    }
    return std::max(1, static_cast<int>(cores.size()));
}

/// Paths of the loaded libraries whose file name contains `part`.
std::vector<std::string> loaded(const std::string& part) {
    struct Search {
        const std::string& part;
        std::vector<std::string> found;
    } search{part, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& s = *static_cast<Search*>(data);
            const std::string path = info->dlpi_name ? info->dlpi_name : "";
            if (path.substr(path.find_last_of('/') + 1).find(s.part) != std::string::npos) s.found.push_back(path);
            return 0;
        },
        &search);
    return search.found;
}

std::string blas_in_use() {
    const std::string kernels = (product_library() == "oneDNN" ? "fp32 products by oneDNN, " : "") +
                                (blas_kernels().empty() ? "" : blas_kernels() + " kernels, ");
    // The order in which references are resolved: what comes first answers.
    for (const std::string& path : loaded("blas")) {
        if (path.find("cublas") != std::string::npos) continue;  // the GPU's
        if (path.find("openblas-openmp") != std::string::npos) return "libopenblas (OpenMP), " + kernels + path;
        if (path.find("openblas-pthread") != std::string::npos) return "libopenblas (pthread), " + kernels + path;
        return path;
    }
    for (const std::string& path : loaded("mkl")) return path;
    return "inside LibTorch";
}

/// OpenBLAS gives each product that runs at the same time as others a buffer, keeps it, and tries for ever where it cannot map
/// one: where the address space is limited (ulimit -v) they are mapped before anything else takes it.
void claim_blas_buffers(int threads) {
    struct rlimit limit {};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const auto claim = reinterpret_cast<void* (*)(int)>(::dlsym(RTLD_DEFAULT, "blas_memory_alloc"));
    const auto release = reinterpret_cast<void (*)(void*)>(::dlsym(RTLD_DEFAULT, "blas_memory_free"));
    if (!claim || !release) return;
    constexpr std::size_t kEach = std::size_t{136} << 20;
    const std::size_t room = static_cast<std::size_t>(threads) * kEach;
    void* const probe = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED)
        throw Error(ErrorFacts{.problem = "There is not enough address space",
                               .expected = "room for another " + std::to_string(room >> 20) + " MB",
                               .hint = "Raise the limit (ulimit -v), or use fewer threads (--threads, OMP_NUM_THREADS)"});
    ::munmap(probe, room);
    std::vector<void*> buffers;
    for (int i = 0; i < threads; ++i) buffers.push_back(claim(0));
    for (void* buffer : buffers) release(buffer);
}

/// Gives the heap's free pages back from a thread of its own, which lasts as long as the program.
class Trimmer {
public:
    /// `always`: whether or not much can be given back.
    void trim_at(std::chrono::steady_clock::time_point due, bool always) {
        bool later = true;
        {
            const std::lock_guard lock(mutex_);
            due_ = due;
            always_ |= always;
            if (!thread_.joinable()) try {
                    thread_ = std::thread([this] { work(); });
                } catch (const std::system_error&) {  // refused, of address space say; destructors of models call this
                    due_.reset();
                    later = always_ = false;
                }
        }
        changed_.notify_one();
        if (!later) give_back(always);
    }

    void keep(int more) {
        {
            const std::lock_guard lock(mutex_);
            keepers_ += more;
        }
        changed_.notify_one();
    }

private:
    [[noreturn]] void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            if (!due_ || keepers_ > 0) {
                changed_.wait(lock, [&] { return due_ && keepers_ == 0; });
            } else if (const auto due = *due_; std::chrono::steady_clock::now() < due) {
                changed_.wait_until(lock, due, [&] { return due_ != due || keepers_ > 0; });
            } else {
                due_.reset();
                const bool always = std::exchange(always_, false);
                lock.unlock();
                give_back(always);
                lock.lock();
            }
        }
    }

    void give_back(bool always) {
        constexpr std::int64_t kMuch = 128 << 20;
        if (!always && large_tensors_waiting() + static_cast<std::int64_t>(mallinfo2().fordblks) < kMuch) return;
        release_large_tensors();
        malloc_trim(0);
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::chrono::steady_clock::time_point> due_;
    bool always_ = false;
    int keepers_ = 0;
    std::thread thread_;
};

Trimmer& trimmer() {
    static Trimmer& one = *new Trimmer;  // models that are static may end after it would
    return one;
}

}  // namespace

void give_memory_back(std::chrono::milliseconds after) { trimmer().trim_at(std::chrono::steady_clock::now() + after, true); }
void give_spare_memory_back(std::chrono::milliseconds after) {
    trimmer().trim_at(std::chrono::steady_clock::now() + after, false);
}

KeepMemory::KeepMemory() { trimmer().keep(1); }
KeepMemory::~KeepMemory() { trimmer().keep(-1); }

void require_same_torch(const std::string& built, const std::string& config) {
    constexpr std::string_view name = "TORCH_VERSION=";
    const auto at = config.find(name);
    if (at == std::string::npos) return;  // a build that does not say
    const std::string loaded = config.substr(at + name.size(), config.find_first_of(", \n", at) - at - name.size());
    const auto first_two = [](const std::string& version) { return version.substr(0, version.find('.', version.find('.') + 1)); };
    if (first_two(loaded) == first_two(built)) return;
    throw Error(ErrorFacts{.problem = "Another LibTorch is loaded than Headlight was built with",
                           .item = "LibTorch",
                           .expected = first_two(built),
                           .found = loaded,
                           .hint = "Install the version that is expected, or build Headlight again with "
                                   "-DHEADLIGHT_TORCH_DIR=<folder of this LibTorch>"});
}

void start_runtime(int threads) {
    require_same_torch(TORCH_VERSION, at::show_config());
    // Temporaries would be mapped afresh each time, and the page faults cost as much as the arithmetic; jobs run on other
    // threads, whose own arenas could not hold them. So: one arena that keeps what it has until give_memory_back(), but for
    // the largest blocks, which are results more often than temporaries.
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 0x7fffffff);
    mallopt(M_TOP_PAD, 64 << 20);
    map_large_tensors();
    // Without /proc LibTorch cannot find out what the processor is, and both of these stop it: the choice of kernels, which
    // the compiler's own question answers, and a thread pool that set_num_threads() makes and nothing here uses.
    if (::access("/proc/cpuinfo", R_OK) != 0) {
        const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        ::setenv("ATEN_CPU_CAPABILITY", avx2 ? "avx2" : "default", 0);
        return;
    }
    at::set_num_threads(threads > 0 ? threads : physical_cores());
    claim_blas_buffers(at::get_num_threads());
}

RuntimeFacts runtime_facts() {
    RuntimeFacts facts;
    facts.torch_version = TORCH_VERSION;
    facts.blas = blas_in_use();
    facts.threads = at::get_num_threads();
    facts.cuda = cuda_works();
    return facts;
}

}  // namespace headlight::model
