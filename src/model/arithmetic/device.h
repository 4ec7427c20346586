// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

namespace headlight::model {

/// True when this LibTorch can put a tensor on a GPU here.
bool cuda_works();
/// "auto", "cpu" or "cuda" -> device; Error for other words and for "cuda" where it does not work.
at::Device choose_device(const std::string& wanted);
/// Bytes that are free on a GPU, what LibTorch keeps for later given back; largest int64 where it is not known.
std::int64_t free_memory(const at::Device&);
struct Placement {
    at::Device device;
    std::string why_cpu;  ///< why it is not the GPU that was chosen; empty: it is what was chosen
};
/// The device for weights of `bytes` where `chosen` has `free`: weights on a GPU may take three quarters of that, the rest is for
/// the pass. What "auto" chose gives way to the CPU; Error where a GPU was asked for.
Placement device_with_room(const at::Device& chosen, const std::string& wanted, std::int64_t bytes, std::int64_t free);
/// "CPU", "CUDA:0 NVIDIA H200".
std::string device_text(const at::Device&);

}  // namespace headlight::model
