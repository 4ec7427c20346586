// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "model/gguf/source.h"
#include "model/load/quantization.h"
#include "model/load/weight_source.h"

namespace headlight::model {

/// Configuration and tensors, whatever files they come from.
struct Source {
    ConfigReader config;
    io::TensorStore store;
    std::map<std::string, Fp8Scale> fp8;     ///< by name
    std::map<std::string, StoredAs> stored;  ///< of tensors that were something else in their file
    std::vector<std::string> used_up;
    std::map<std::string, DeferredTensor> deferred;  ///< by name: the store has no numbers of these
    std::vector<std::string> notes = {};             ///< for the load report
    bool as_used = false;  ///< all weights at once would take more room than there is: matrices are converted as they are used
};

/// The folder's config.json. Where there is none the Error says what else the folder is: an adapter, or one of
/// sentence-transformers.
nlohmann::json read_config_json(const std::filesystem::path& folder);

/// Names and shapes of the tensors in a model's files.
io::TensorStore outline_of(const std::filesystem::path&);
/// `room`: bytes that all weights may take in `dtype` beside their files.
Source open_source(const std::filesystem::path&, at::ScalarType dtype, std::int64_t room, const CancelToken&, const Progress&);

/// A row's tensor in the compute type, as it is stored; `mapped`: it is the file's own memory.
at::Tensor numbers_of(const Source&, const ResolvedRow&, at::ScalarType, at::Device, bool& mapped);
/// Rows [first, first + count) of the stored tensor, on the CPU.
at::Tensor rows_of(const Source&, const ResolvedRow&, std::int64_t first, std::int64_t count, at::ScalarType);
/// A tensor as it lies in its file.
std::span<const std::byte> bytes_in_file(const Source&, const io::TensorView&);
/// True where two tensors of the store are the same bytes.
bool same_numbers(const Source&, const io::TensorView&, const io::TensorView&);

}  // namespace headlight::model
