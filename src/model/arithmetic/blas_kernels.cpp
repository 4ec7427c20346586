// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/blas_kernels.h"

#include <dlfcn.h>

namespace headlight::model {
bool has_avx512() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

std::string blas_kernels() {
    const auto core_name = reinterpret_cast<const char* (*)()>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    return core_name ? core_name() : "";
}

bool prefers_onednn(bool avx512, const std::string& chosen) {
    if (chosen == "onednn" || chosen == "blas") return chosen == "onednn";
    return avx512;
}

}  // namespace headlight::model
