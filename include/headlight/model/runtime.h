// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <chrono>
#include <string>

namespace headlight::model {

/// Once, first thing in main(): threads (0 = physical cores), allocator settings that avoid page faults of large
/// temporaries (docs/benchmarks.md says what they are worth).
/// Error: an address space that is limited (ulimit -v) to less than products on that many threads need; another LibTorch than
/// the program was built with.
void start_runtime(int threads = 0);
/// Error where the first two numbers of the versions differ, between which LibTorch's layout of tensors changes. `built` is
/// "1.13.1"; `config` is what LibTorch says of its own build, at::show_config().
void require_same_torch(const std::string& built, const std::string& config);

/// Gives freed memory back to the system, from a thread of its own and once: a later call puts it off again, so that runs in
/// quick succession reuse what the last one left. For owners of much memory, when they let go of it. Never waits.
void give_memory_back(std::chrono::milliseconds after = std::chrono::seconds(2));
/// While one lives nothing is given back: a run is about to need it.
class KeepMemory {
public:
    KeepMemory();
    ~KeepMemory();
    KeepMemory(const KeepMemory&) = delete;
    KeepMemory& operator=(const KeepMemory&) = delete;
};

struct RuntimeFacts {
    std::string torch_version;
    std::string blas;  ///< path of the BLAS that is really loaded, "libopenblas (OpenMP), Haswell kernels, …/libblas.so.3"
    int threads = 1;
    bool cuda = false;  ///< this LibTorch can use a GPU and there is one
};
RuntimeFacts runtime_facts();
/// Additions and multiplications a second in a matrix product of float32 on the CPU, by all threads, measured at the first call,
/// which takes some milliseconds. Other programs do not count: by the processor time of the calling thread.
double product_rate();

}  // namespace headlight::model
