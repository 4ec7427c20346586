// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/device.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"

#include <dlfcn.h>
#if __has_include(<torch/headeronly/version.h>)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <filesystem>
#include <fstream>
#include <limits>

namespace headlight::model {
namespace {

/// The driver's own file, so that nothing of CUDA has to be linked.
std::string gpu_model() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none)) {
        std::ifstream file(entry.path() / "information");
        for (std::string line; std::getline(file, line);) {
            if (!line.starts_with("Model:")) continue;
            const auto begin = line.find_first_not_of(" \t", 6);
            return begin == std::string::npos ? std::string{} : line.substr(begin);
        }
    }
    return {};
}

}  // namespace

bool cuda_works() {
    static const bool works = [] {
        if (!at::hasCUDA()) return false;
        try {
            return at::ones({1}, at::TensorOptions(at::kCUDA)).cpu().item<float>() == 1.0f;
        } catch (const std::exception&) {
            return false;  // built with CUDA, but no GPU or no driver here
        }
    }();
    return works;
}

at::Device choose_device(const std::string& wanted) {
    if (wanted == "cpu") return at::kCPU;
    if (wanted == "auto") return cuda_works() ? at::Device(at::kCUDA, 0) : at::Device(at::kCPU);
    if (wanted != "cuda")
        throw Error(ErrorFacts{.problem = "Unknown device", .item = "device", .expected = "auto, cpu or cuda", .found = wanted});
    if (!cuda_works())
        throw Error(ErrorFacts{.problem = "No GPU can be used",
                               .item = "device cuda",
                               .expected = "a LibTorch with CUDA and a working driver",
                               .found = at::hasCUDA() ? "a LibTorch with CUDA but no usable GPU" : "a LibTorch without CUDA",
                               .hint = "Use the device auto or cpu"});
    return at::Device(at::kCUDA, 0);
}

std::int64_t free_memory(const at::Device& device) {
    constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
    if (!device.is_cuda()) return kUnknown;
#if __has_include(<torch/headeronly/version.h>)  // LibTorch 2.9: before it only with CUDA's headers
    // What LibTorch keeps of tensors that are gone, of a model that was closed for example, would count as in use.
    if (auto* kept = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()))) kept->emptyCache();
#endif
    // Of the CUDA runtime that LibTorch brings along: linking it here would ask for CUDA wherever Headlight is built.
    using MemGetInfo = int (*)(std::size_t*, std::size_t*);
    const auto info = reinterpret_cast<MemGetInfo>(dlsym(RTLD_DEFAULT, "cudaMemGetInfo"));
    std::size_t free = 0, total = 0;
    if (!info || info(&free, &total) != 0) return kUnknown;
    return static_cast<std::int64_t>(free);
}

Placement device_with_room(const at::Device& chosen, const std::string& wanted, std::int64_t bytes, std::int64_t free) {
    const std::int64_t room = free / 4 * 3;
    if (chosen.is_cpu() || bytes <= room) return {chosen, {}};
    const std::string needed = rounded_bytes(static_cast<double>(bytes)), there = rounded_bytes(static_cast<double>(room));
    if (wanted == "auto")
        return {at::kCPU, "computed on the CPU: weights of " + needed + ", of which the GPU has room for " + there};
    throw Error(ErrorFacts{.problem = "The GPU does not have enough memory for the model",
                           .item = "device " + wanted,
                           .expected = "weights of at most " + there + ", three quarters of what is free",
                           .found = needed,
                           .hint = "Use the device auto or cpu, or the type bfloat16"});
}

std::string device_text(const at::Device& device) {
    if (device.is_cpu()) return "CPU";
    const std::string model = gpu_model();
    return "CUDA:" + std::to_string(static_cast<int>(device.index())) + (model.empty() ? "" : " " + model);
}

}  // namespace headlight::model
