// SPDX-License-Identifier: GPL-3.0-or-later
// A GGUF file as Model::load reads a folder: a configuration, and tensors under Hugging Face's names and in its layout.
#pragma once

#include "headlight/base/job.h"
#include "headlight/io/safetensors.h"
#include "model/load/config_reader.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
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

/// A matrix that is converted when it is used.
struct DeferredTensor {
    /// Rows [first, first + count) in the layout of the store's tensor, with all threads. Thread-safe.
    std::function<at::Tensor(std::int64_t first, std::int64_t count)> rows;
    std::span<const std::byte> bytes;  ///< as they lie in the file
};

struct GgufSource {
    ConfigReader config;
    io::TensorStore store{};
    std::map<std::string, StoredAs> stored{};          ///< by name in the store
    std::vector<std::string> used_up{};                ///< tensors that are part of the configuration
    std::map<std::string, DeferredTensor> deferred{};  ///< by name in the store, which has no numbers of these
    bool as_used = false;                              ///< there was no room for all numbers at once
};

/// Dequantises with all threads, to bfloat16 if `dtype` is that, else to float32. Tensors that need no change are mapped,
/// not copied. Where all numbers in `dtype` would take more than `room` bytes, matrices are deferred. Errors name file, key or
/// tensor.
GgufSource read_gguf(const std::filesystem::path& file, at::ScalarType dtype, std::int64_t room, const CancelToken&,
                     const Progress&);

/// The same from the header alone: the store has names, types and shapes, but no numbers.
GgufSource outline_gguf(const std::filesystem::path& file);

}  // namespace headlight::model
