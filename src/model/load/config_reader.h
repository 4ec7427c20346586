// SPDX-License-Identifier: GPL-3.0-or-later
// config.json field by field. Every error names the file, the field, what was expected and what was there.
#pragma once

#include "headlight/model/config.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::model {

class ConfigReader {
public:
    /// Error when the file's value is not an object.
    ConfigReader(std::filesystem::path file, nlohmann::json);

    const std::filesystem::path& file() const noexcept { return file_; }

    using Names = std::initializer_list<std::string_view>;  ///< the same field under several spellings
    bool has(std::string_view name) const;                  ///< present and not null

    bool mentions(std::string_view name) const;  ///< present, maybe null

    /// A positive integer not above `limit`. Without a default the field must be there.
    std::int64_t size(Names, std::int64_t limit, std::optional<std::int64_t> fallback = {}) const;
    double number(Names, std::optional<double> fallback = {}) const;  ///< from 1e-30 to 1e30
    double signed_number(Names, double fallback) const;               ///< up to 1e30
    std::vector<double> numbers(std::string_view name) const;         ///< a list of such numbers
    /// The value as it is, null when absent.
    const nlohmann::json& raw(std::string_view name) const;
    /// A list of `count` texts; empty when absent.
    std::vector<std::string> texts(std::string_view name, std::int64_t count) const;
    std::vector<std::int64_t> integers(std::string_view name, std::int64_t count) const;  ///< likewise
    bool flag(std::string_view name, bool fallback) const;
    std::string text(Names, std::optional<std::string> fallback = {}) const;
    /// First entry of "architectures", or "".
    std::string architecture() const;
    /// An object inside, read with the same errors ("rope_scaling.factor"); nullopt when absent or null.
    std::optional<ConfigReader> object(std::string_view name) const;
    /// The same, also nullopt where the value is no object ("full_attention" beside plain fields).
    std::optional<ConfigReader> object_of_kind(std::string_view name) const;

    /// Error for a value that changes the computation in an unsupported way.
    [[noreturn]] void unsupported(std::string_view name, const std::string& supported) const;
    [[noreturn]] void wrong(std::string_view name, const std::string& expected, const std::string& found) const;
    /// unsupported() unless the flag (or `fallback` if absent) equals `value`.
    void require_flag(std::string_view name, bool value, bool fallback) const;

private:
    const nlohmann::json* find(Names, std::string_view& used) const;
    const nlohmann::json* find(std::string_view name) const;  ///< null when absent or null
    template <class T>
    std::vector<T> list(std::string_view name, std::int64_t count, const char* of, bool (nlohmann::json::*is)() const) const;
    std::filesystem::path file_;
    nlohmann::json json_;
    std::string prefix_;
};

// Limits that keep a broken or hostile config from asking for the impossible. Far above any model there is.
inline constexpr std::int64_t kMaxLayers = 4096;
inline constexpr std::int64_t kMaxWidth = 1 << 20;
inline constexpr std::int64_t kMaxHeads = 1 << 16;
inline constexpr std::int64_t kMaxVocab = 1 << 26;
inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 40;

/// "gelu_new" -> Activation; unsupported() with the list otherwise.
Activation read_activation(const ConfigReader&, std::string_view field, const std::string& fallback);
/// Layers, width, heads (as many for keys and values), their width and the scale 1/sqrt(d_head); the spellings of each field.
void read_sizes(const ConfigReader&, ModelConfig&, ConfigReader::Names layers, ConfigReader::Names width,
                ConfigReader::Names heads);
/// Key/value heads: a divisor of the query heads. `fallback`, else the query heads, if the field is absent.
std::int64_t read_kv_heads(const ConfigReader&, const ModelConfig&, std::optional<std::int64_t> fallback = {});
/// Rows of "layer_types" turned into windows: `window` for "sliding_attention", 0 for "full_attention"; unsupported() for
/// any other name. `fallback(layer)`: whether a layer is local where the file does not list them.
void read_layer_types(const ConfigReader&, ModelConfig&, std::int64_t window, bool (*fallback)(std::int64_t layer));
/// d_model / n_heads; wrong() when it does not divide.
std::int64_t head_width(const ConfigReader&, std::string_view heads_field, std::int64_t d_model, std::int64_t n_heads);

}  // namespace headlight::model
