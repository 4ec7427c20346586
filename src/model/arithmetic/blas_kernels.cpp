// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/model/blas_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace headlight::model {
namespace {

constexpr const char* kChoice = "OPENBLAS_CORETYPE";

}  // namespace

Processor this_processor() {
    Processor cpu;
#if defined(__x86_64__)
    cpu.avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512vl");
#endif
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line) && !line.empty();) {  // an empty line ends the first processor
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos || colon + 2 > line.size()) continue;
        const std::string value = line.substr(colon + 2);
        if (line.starts_with("vendor_id")) cpu.vendor = value;
        if (line.starts_with("cpu family")) cpu.family = std::atoi(value.c_str());
    }
    return cpu;
}

std::string blas_kernels() {
    const auto core_name = reinterpret_cast<const char* (*)()>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
    return core_name ? core_name() : "";
}

std::string better_blas_kernels(const Processor& cpu, const std::string& current) {
    const bool avx2_only = current == "Haswell" || current == "Zen" || current == "Excavator";
    const bool splits_512 = cpu.vendor == "AuthenticAMD" && cpu.family < 26;
    return avx2_only && cpu.avx512 && !splits_512 ? "SkylakeX" : "";
}

bool prefers_onednn(const Processor& cpu, const std::string& chosen) {
    if (chosen == "onednn" || chosen == "blas") return chosen == "onednn";
    return cpu.avx512;
}

void use_best_blas_kernels(char** argv) {
    if (std::getenv(kChoice)) return;
    const std::string better = better_blas_kernels(this_processor(), blas_kernels());
    if (better.empty()) return;
    ::setenv(kChoice, better.c_str(), 1);
    ::execv("/proc/self/exe", argv);  // comes back only where it failed: then as it is
}

}  // namespace headlight::model
