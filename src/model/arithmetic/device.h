// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace headlight::model {

/// True when this LibTorch can put a tensor on a GPU here.
bool cuda_works();
/// "auto", "cpu" or "cuda" -> device; Error for other words and for "cuda" where it does not work.
at::Device choose_device(const std::string& wanted);
/// "CPU", "CUDA:0 NVIDIA H200".
std::string device_text(const at::Device&);

}  // namespace headlight::model
