// SPDX-License-Identifier: GPL-3.0-or-later
// Weights stored as anything but floating-point numbers of at least 16 bits.
#pragma once

#include "headlight/io/safetensors.h"
#include "model/load/config_reader.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace headlight::model {

/// Scales of a weight in 8-bit floating point (E4M3, Micikevicius et al. 2022): one number per block.
struct Fp8Scale {
    io::TensorView numbers;              ///< [rows of blocks, columns of blocks]
    std::int64_t rows = 1, columns = 1;  ///< of a block; the last ones of a matrix may be smaller
};

/// A folder's tensors without the companions of quantised ones.
struct QuantizedStore {
    io::TensorStore store;
    std::map<std::string, Fp8Scale> fp8;  ///< by the weight's name
    std::vector<std::string> used_up;     ///< names of the scales and of tensors that only an fp8 run needs
};

/// Sorts out the scales of fp8 weights: blocks (`weight_scale_inv`, DeepSeek-V3), rows or whole tensors (`weight_scale`).
/// Errors name an unsupported scheme (GPTQ, AWQ, bitsandbytes, …) found in config.json or in tensor names, rather than the
/// "missing" tensors that would follow, and the tensor whose scale is absent or does not fit.
QuantizedStore read_quantization(const ConfigReader&, io::TensorStore);

/// scale * stored of an F8_E4M3 tensor (`scale` nullptr: the stored numbers): the product in float32, for float64 in float64,
/// rounded once to `dtype`. Error naming a scale that is not finite.
at::Tensor dequantize_fp8(const io::TensorView&, const Fp8Scale* scale, at::ScalarType dtype);

}  // namespace headlight::model
