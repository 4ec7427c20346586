// SPDX-License-Identifier: GPL-3.0-or-later
// One llama.cpp architecture in Hugging Face's terms: tensor names, how the converter rearranged their numbers, and
// the config.json that the metadata correspond to. One row per architecture in architectures.cpp.
#pragma once

#include "headlight/io/gguf.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

/// What llama.cpp's converter did to a tensor and the reader undoes.
enum class Change {
    none,
    rotate_q,       ///< rows of each query head in pairs (i, i + d_head / 2), for its way of rotating
    rotate_k,       ///< the same for the key/value heads
    transpose,      ///< a Conv1D's [in, out] became [out, in]
    plus_one,       ///< Gemma's norms: 1 was added to the gain
    split_heads,    ///< BLOOM's rows (head, q|k|v) became (q|k|v, head)
    split_groups,   ///< Falcon's rows (kv head, its queries | k | v) became (all q | all k | all v)
    experts,        ///< matrices of all experts of a layer one after another, or rows of all heads; '@' in our name is the expert
    latent_keys,    ///< DeepSeek's kv_b_proj without the values' rows, each head's part transposed: [head, rank, content]
    latent_values,  ///< its values' rows: [head, value, rank]
    whole_name,     ///< our name is complete: no ".weight" or ".bias" is added
};

/// A tensor's name without its ".weight" or ".bias"; '#' is the layer.
struct TensorName {
    std::string_view gguf;  ///< "blk.#.attn_q"
    std::string_view ours;  ///< "model.layers.#.self_attn.q_proj"
    Change change = Change::none;
};

/// The metadata of one file, read with errors that name file and key.
class GgufMetadata {
public:
    explicit GgufMetadata(const io::GgufFile&);

    const io::GgufFile& file() const noexcept { return file_; }
    const std::string& architecture() const noexcept { return architecture_; }
    /// Keys are looked up with the architecture in front: "attention.head_count" -> "llama.attention.head_count".
    bool has(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::optional<std::int64_t> fallback = {}) const;
    double number(const std::string& key, std::optional<double> fallback = {}) const;
    std::string text(const std::string& key, const std::string& fallback) const;
    bool flag(const std::string& key, bool fallback) const;
    /// One for each layer; empty: no such key, or one number for all.
    std::vector<bool> flags(const std::string& key) const;
    /// Size of a tensor's dimension, counted from the outermost; Error when there is no such tensor.
    std::int64_t tensor_size(const std::string& tensor, std::size_t dimension) const;
    bool has_tensor(const std::string& tensor) const { return file_.find(tensor) != nullptr; }

    [[noreturn]] void wrong(const std::string& key, const std::string& expected, const std::string& found) const;

private:
    const nlohmann::json* find(const std::string& key) const;
    const io::GgufFile& file_;
    std::string architecture_;
};

struct GgufArchitecture {
    std::string_view name;  ///< general.architecture
    std::span<const TensorName> tensors;
    nlohmann::json (*config)(const GgufMetadata&);  ///< the config.json that transformers would write
};

/// The tensor is read into the configuration: it has no name there.
bool is_configuration(std::string_view tensor);

/// Error with the list of known ones when there is none of this name.
const GgufArchitecture& architecture_of(const GgufMetadata&);

}  // namespace headlight::model
