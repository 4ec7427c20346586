// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/enum_table.h"
#include "headlight/base/job.h"
#include "headlight/base/results.h"
#include "headlight/model/config.h"
#include "headlight/model/load_report.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace headlight::model {

/// What tensors and products of a pass are computed in. In the last everything is float32 but the products of layers (with
/// weights, of queries and keys, of patterns and values): their factors are rounded to bfloat16, for the processor's units that
/// multiply these and sum in float32. Routers and logits stay float32, and so do passes with gradients and tokens written one by
/// one.
enum class ComputeType { float32, bfloat16, float64, float32_bf16 };
inline constexpr EnumRow<ComputeType> compute_types[] = {{ComputeType::float32, "float32", "fp32"},
                                                         {ComputeType::bfloat16, "bfloat16", "bf16"},
                                                         {ComputeType::float64, "float64", "fp64"},
                                                         {ComputeType::float32_bf16, "float32-bf16", "fp32, products bf16"}};
constexpr const auto& enum_rows(ComputeType) { return compute_types; }
constexpr bool has_bfloat16_products(ComputeType type) { return type == ComputeType::float32_bf16; }
/// Of a number of the pass's tensors.
constexpr std::int64_t element_bytes(ComputeType type) {
    return type == ComputeType::bfloat16 ? 2 : type == ComputeType::float64 ? 8 : 4;
}

struct LoadOptions {
    ComputeType dtype = ComputeType::float32;  ///< Error for one with bfloat16 products if the processor has no such units
    /// auto | cpu | cuda. auto: a GPU where one works and the weights fit into three quarters of its free memory, else the CPU.
    /// Error for cuda if this LibTorch has none, the weights do not fit or the type is the CPU's alone.
    std::string device = "auto";
};

/// Weights and configuration, ready to run; immutable and shared. Torch-free: internals are in src/model/.
class Model {
public:
    /// Reads a folder in Hugging Face layout (config.json + safetensors). Errors name file, tensor, expected and found.
    static std::shared_ptr<const Model> load(const std::filesystem::path& folder, const LoadOptions& = {},
                                             const CancelToken& = {}, const Progress& = {});
    ~Model();

    const ModelConfig& config() const noexcept;
    const LoadReport& report() const noexcept;
    const std::filesystem::path& folder() const noexcept;
    ComputeType dtype() const noexcept;
    std::string device_name() const;  ///< "CPU", "CUDA:0 NVIDIA …"
    /// SHA-256 over the weight files' and config.json's contents; computed at the first call, then remembered. Thread-safe.
    const std::string& hash() const;
    /// Parameters by part: "embedding", "positions", "attention", "mlp", "norms", "unembedding" (0 when tied).
    std::map<std::string, std::int64_t> parameter_counts() const;
    /// The other parts of an encoder-decoder model, which is its decoder: the encoder, without unembedding, and the cross
    /// attentions, layers of one attention and its norm. Both share the model's memory. nullptr if there is no such part.
    const std::shared_ptr<const Model>& part(Stack) const noexcept;

    /// What was computed from these weights and is needed again while they are open.
    Results& results() const noexcept { return results_; }

    struct Internals;  ///< src/model/internals.h
    const Internals& internals() const noexcept { return *internals_; }

private:
    explicit Model(std::unique_ptr<Internals>);
    std::unique_ptr<Internals> internals_;
    mutable Results results_;
};

/// Names of the families in the registry, in order.
std::vector<std::string> family_names();

}  // namespace headlight::model
