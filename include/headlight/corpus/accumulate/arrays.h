// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Arrays of a safetensors file, by name. T is float, double, std::int64_t, std::int32_t, std::int16_t or std::uint8_t.
class Arrays {
public:
    /// Copies the values. `shape` must multiply to their number.
    template <class T>
    void put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> values);
    /// Error naming the file and the array: missing, or another type or shape. -1 in `shape` matches any size.
    template <class T>
    std::vector<T> get(const std::string& name, const std::vector<std::int64_t>& shape) const;
    std::vector<std::int64_t> shape(const std::string& name) const;  ///< Error when it is missing
    bool has(const std::string& name) const noexcept { return arrays_.contains(name); }
    std::int64_t bytes() const noexcept;

    void write(const std::filesystem::path&, const std::map<std::string, std::string>& metadata) const;
    static Arrays read(const std::filesystem::path&, std::map<std::string, std::string>* metadata = nullptr);

private:
    struct Array {
        io::DType dtype = io::DType::F32;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
    };
    std::map<std::string, Array> arrays_;
    const Array& at(const std::string& name) const;

    std::filesystem::path file_;
};

}  // namespace headlight::corpus
