// SPDX-License-Identifier: GPL-3.0-or-later
// Who computes the matrix products. OpenBLAS chooses its kernels when it is loaded, from a list of processors that ends with
// the year of its release: a newer one with AVX-512 gets AVX2 kernels, half as fast (Zen 5 with 0.3.21: 230 instead of
// 440 GFLOP/s).
#pragma once

#include <string>

namespace at {
class Tensor;
}

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

/// Whether fp32 products should be oneDNN's (it comes with Debian's LibTorch) and not OpenBLAS'. With AVX-512 it is 5-25 %
/// faster at the sizes of a forward pass (Intel Xeon, AMD Zen 4); with AVX2 alone the two are equal, and OpenBLAS stays.
/// `chosen`: what the user said, "onednn" or "blas"; anything else leaves it to the processor.
bool prefers_onednn(const Processor&, const std::string& chosen);

/// Who computes fp32 products on the CPU: "oneDNN", "OpenBLAS", or "LibTorch" with what it has inside. HEADLIGHT_PRODUCTS
/// in the environment chooses, see prefers_onednn().
std::string product_library();

/// A [m, k] times B [k, n], by the library above where it can: 2-D, any type and device that LibTorch multiplies.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);
/// The same plus bias [n] in every row.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias);

/// Starts the program anew, once, where OpenBLAS chose slower kernels than the processor has: the choice cannot be
/// changed later. Leaves everything as it is where the user has set OPENBLAS_CORETYPE. First thing in main().
void use_best_blas_kernels(char** argv);

}  // namespace headlight::model
