// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::model {

/// One parameter of the model and the tensor that fed it.
struct LoadedParameter {
    std::string parameter;  ///< our name: "blocks.0.attn.W_Q"
    std::string tensor;     ///< name in the file: "h.0.self_attention.query_key_value.weight"
    std::string file;
    std::vector<std::int64_t> shape;  ///< of the tensor in the file
    std::string stored_dtype;         ///< "F16"
    bool mapped = false;              ///< used in place, no copy
};

/// What every tensor of a model folder is used for. Loading fails if a parameter is missing.
struct LoadReport {
    std::vector<LoadedParameter> loaded;
    std::vector<std::string> unused;            ///< tensors in the files that no parameter uses
    std::vector<std::string> ignored;           ///< unused on purpose: buffers the family names (attention masks, position ids)
    std::vector<std::string> optional_missing;  ///< parts that are absent and not needed ("MLM head")
    std::vector<std::string>
        notes;  ///< of how the files were read: a part of another model, a family that config.json does not name
    std::vector<std::string> files;
    std::string why_cpu;  ///< why a GPU that works is not used; empty: there is none, it is used, or the CPU was asked for
    double seconds = 0;
    std::int64_t bytes_mapped = 0;
    std::int64_t bytes_copied = 0;
};

}  // namespace headlight::model
