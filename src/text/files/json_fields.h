// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// A JSON value with its location, so that every error names file and field
/// ("tokenizer.json, normalizer.normalizers[1].pattern").
class Field {
public:
    Field(const nlohmann::json& value, std::string file, std::string path = "")
        : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

    const nlohmann::json& json() const noexcept { return *value_; }
    const std::string& file() const noexcept { return file_; }
    const std::string& path() const noexcept { return path_; }

    bool has(const char* key) const;  ///< present and not null
    Field at(const char* key) const;  ///< Error when missing or null
    std::optional<Field> find(const char* key) const;
    std::vector<Field> items() const;  ///< of an array

    const std::string& string() const;
    bool boolean() const;
    std::int64_t integer(std::int64_t low, std::int64_t high) const;

    std::string string_or(const char* key, std::string fallback) const;
    bool boolean_or(const char* key, bool fallback) const;

    /// The value of "type", which must be one of `known`.
    std::string type(std::initializer_list<std::string_view> known, const char* what) const;

    [[noreturn]] void fail(const std::string& problem, const std::string& expected = "", const std::string& found = "",
                           const std::string& hint = "") const;
    [[noreturn]] void fail_expected(const std::string& expected) const;

private:
    const nlohmann::json* value_;
    std::string file_;
    std::string path_;
};

/// A token id: 0 … kHighestId. The bound keeps a wrong file from asking for gigabytes.
inline constexpr std::int64_t kHighestId = 16'777'215;

}  // namespace headlight::text
