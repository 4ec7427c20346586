// SPDX-License-Identifier: GPL-3.0-or-later
// A GGUF file as what Model::load reads from a folder: a configuration and tensors in Hugging Face's names and layout.
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

/// What a tensor of the store was in its file.
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
    std::vector<std::string> used_up;        ///< tensors that went into the configuration
};

/// Quantised tensors are turned into `dtype`'s numbers by all threads; float32 for any but bfloat16. What can be used as
/// it lies in the file is not copied. Errors name file, key or tensor.
GgufSource read_gguf(const std::filesystem::path& file, at::ScalarType dtype, const CancelToken&, const Progress&);

/// The same from the header alone: the store has names, types and shapes, but no numbers.
GgufSource outline_gguf(const std::filesystem::path& file);

}  // namespace headlight::model
