// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/device.h"

#include "headlight/base/error.h"

#include <filesystem>
#include <fstream>

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

std::string device_text(const at::Device& device) {
    if (device.is_cpu()) return "CPU";
    const std::string model = gpu_model();
    return "CUDA:" + std::to_string(static_cast<int>(device.index())) + (model.empty() ? "" : " " + model);
}

}  // namespace headlight::model
