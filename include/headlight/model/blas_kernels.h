// SPDX-License-Identifier: GPL-3.0-or-later
// Which set of kernels OpenBLAS computes with. It chooses when it is loaded, from a list of processors that ends with
// the year of its release: a newer one with AVX-512 gets AVX2 kernels, half as fast (Zen 5 with 0.3.21: 230 instead of
// 440 GFLOP/s).
#pragma once

#include <string>

namespace headlight::model {

struct Processor {
    std::string vendor;   ///< "GenuineIntel", "AuthenticAMD"; empty: not known
    int family = 0;       ///< 25: Zen 3 and 4; 26: Zen 5
    bool avx512 = false;  ///< F, DQ, BW and VL, and the system saves their registers
};
Processor this_processor();

/// "Haswell", "SkylakeX", "Zen", …; empty where the BLAS in use is not an OpenBLAS.
std::string blas_kernels();

/// The set to ask for instead of `current`; empty: `current` is right. Zen 4 splits 512-bit operations in two: nothing
/// to win.
std::string better_blas_kernels(const Processor&, const std::string& current);

/// Starts the program anew, once, where OpenBLAS chose slower kernels than the processor has: the choice cannot be
/// changed later. Leaves everything as it is where the user has set OPENBLAS_CORETYPE. First thing in main().
void use_best_blas_kernels(char** argv);

}  // namespace headlight::model
