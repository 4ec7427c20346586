// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headlight::io {

/// A tensor as stored in a file: row-major, little-endian, not copied. `owner` keeps the mapping alive.
/// `bytes` starts where the file says, which need not be a multiple of the element size (old files do not pad).
struct TensorView {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
    std::filesystem::path file;
    std::shared_ptr<const void> owner;

    std::int64_t numel() const noexcept;
};

/// All tensors of one model folder or file by name: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` names; else `pytorch_model.bin` or its index. A file by itself may also be a state
/// dict that torch.save wrote (.bin, .pt, .pth, .ckpt). Nothing in a file is ever run. Headers are checked whole before anything
/// is handed out: every error names the file and the tensor (truncated, header too long, bad JSON, unknown dtype, shape against
/// byte range, overlap, out of range, 64-bit overflow, duplicate name, a tensor in two shards, a shard or an indexed tensor
/// missing, bytes that belong to no tensor).
class TensorStore {
public:
    static TensorStore open_file(const std::filesystem::path& weights_file);
    static TensorStore open_folder(const std::filesystem::path& model_folder);
    /// Tensors that another reader found.
    static TensorStore of(std::map<std::string, TensorView> tensors, std::vector<std::filesystem::path> files);
    static TensorStore open(const std::filesystem::path& folder_or_file);  ///< whichever of the two it is

    const TensorView* find(const std::string& name) const noexcept;  ///< nullptr when absent
    const std::map<std::string, TensorView>& tensors() const noexcept { return tensors_; }
    const std::vector<std::filesystem::path>& files() const noexcept { return files_; }
    const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }  ///< "__metadata__"

private:
    static TensorStore open_shards(const std::filesystem::path& index);
    std::map<std::string, TensorView> tensors_;
    std::vector<std::filesystem::path> files_;
    std::map<std::string, std::string> metadata_;
};

/// Input of the writers: contiguous row-major data, not owned.
struct ArrayRef {
    std::string name;
    DType dtype = DType::F32;
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes;
};

/// Writes aside, flushes, renames: no partial file is left when the disk is full.
void write_safetensors(const std::filesystem::path&, const std::vector<ArrayRef>&,
                       const std::map<std::string, std::string>& metadata);

}  // namespace headlight::io
