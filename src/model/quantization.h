// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/safetensors.h"
#include "model/config_reader.h"

namespace headlight::model {

/// Error naming the scheme when config.json or the names of the tensors say that the weights are quantised in a way
/// that is not read (GPTQ, AWQ, bitsandbytes, fp8, …). Better than the list of "missing" tensors that would follow.
void check_quantization(const ConfigReader&, const io::TensorStore&);

}  // namespace headlight::model
