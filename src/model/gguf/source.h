// SPDX-License-Identifier: GPL-3.0-or-later
// A GGUF file as Model::load reads a folder: a configuration, and tensors under Hugging Face's names and in its layout.
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "model/load/config_reader.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headlight::model {

/// How a tensor of the store is kept in its file.
struct StoredAs {
    std::string tensor;  ///< "blk.0.attn_q.weight"
    std::string dtype;   ///< "Q4_1"
    std::vector<std::int64_t> shape;
    std::int64_t bytes = 0;
    bool mapped = false;  ///< handed on without a copy
};

struct GgufSource {
    ConfigReader config;
    io::TensorStore store;
    std::map<std::string, StoredAs> stored;  ///< by name in the store
    std::vector<std::string> used_up;        ///< tensors that are part of the configuration
};

/// Dequantises with all threads, to bfloat16 if `dtype` is that, else to float32. Tensors that need no change are mapped,
/// not copied. Errors name file, key or tensor.
GgufSource read_gguf(const std::filesystem::path& file, at::ScalarType dtype, const CancelToken&, const Progress&);

/// The same from the header alone: the store has names, types and shapes, but no numbers.
GgufSource outline_gguf(const std::filesystem::path& file);

}  // namespace headlight::model
