// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

namespace headlight::model {

/// Once, first thing in main(): threads (0 = physical cores), allocator settings that avoid page faults of large
/// temporaries (docs/benchmarks.md says what they are worth).
void start_runtime(int threads = 0);

struct RuntimeFacts {
    std::string torch_version;
    std::string blas;  ///< path of the BLAS that is really loaded, "libopenblas (OpenMP), Haswell kernels, …/libblas.so.3"
    int threads = 1;
    bool cuda = false;  ///< this LibTorch can use a GPU and there is one
};
RuntimeFacts runtime_facts();

}  // namespace headlight::model
