// SPDX-License-Identifier: GPL-3.0-or-later
// Who computes the matrix products.
#pragma once

#include <string>

namespace at {
class Tensor;
}

namespace headlight::model {

/// The processor has AVX-512 F, DQ, BW and VL, and the system saves their registers.
bool has_avx512();

/// "Haswell", "SkylakeX", "Zen", …; empty where the BLAS in use is not an OpenBLAS.
std::string blas_kernels();

/// Whether fp32 products should be oneDNN's (it comes with Debian's LibTorch) and not OpenBLAS'. With AVX-512 it is 5-25 %
/// faster at the sizes of a forward pass (Intel Xeon, AMD Zen 4), and does not depend on the processors that OpenBLAS knows;
/// with AVX2 alone the two are equal, and OpenBLAS stays. `chosen`: the user's choice, "onednn" or "blas"; anything else
/// leaves it to the processor.
bool prefers_onednn(bool avx512, const std::string& chosen);

/// Who computes fp32 products on the CPU: "oneDNN", "OpenBLAS", or "LibTorch" with what it has inside. HEADLIGHT_PRODUCTS
/// in the environment chooses, see prefers_onednn().
std::string product_library();

/// The processor has units for products of bfloat16 (AVX-512 BF16, AMX): what ComputeType::float32_bf16 needs.
bool computes_bfloat16_products();

/// A [m, k] times B [k, n], by the library above where it can: 2-D, any type and device that LibTorch multiplies.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b);
/// The same plus bias [n] in every row.
at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias);

}  // namespace headlight::model
