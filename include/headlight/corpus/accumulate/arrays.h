// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headlight::corpus {

/// Counts of queries or texts in a file are below it, so that those of many segments can be added.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;

/// Arrays of a safetensors file, by name. T is float, double, std::int64_t, std::int32_t, std::int16_t or std::uint8_t.
class Arrays {
public:
    /// Copies the values. `shape` must multiply to their number.
    template <class T>
    void put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> values);
    /// Error naming the file and the array: missing, or another type or shape. -1 in `shape` matches any size.
    template <class T>
    std::vector<T> get(const std::string& name, const std::vector<std::int64_t>& shape) const;
    /// The same, all from `least` to `most`, so no NaN; else throw_damaged().
    template <class T>
    std::vector<T> get_within(const std::string& name, const std::vector<std::int64_t>& shape, T least, T most) const;
    /// Numbers of chunks of the store, or from `least`; else throw_damaged().
    std::vector<std::int64_t> get_chunks(const std::string& name, const std::vector<std::int64_t>& shape,
                                         std::int64_t least = 0) const;
    /// Only the checks of get(): before as much memory is taken as another array says.
    template <class T>
    void require(const std::string& name, const std::vector<std::int64_t>& shape) const;
    std::vector<std::int64_t> shape(const std::string& name) const;  ///< Error when it is missing
    /// Error for values that do not fit each other, naming the file and what to do.
    [[noreturn]] void throw_damaged(const std::string& name, const std::string& expected = {},
                                    const std::string& found = {}) const;
    bool has(const std::string& name) const noexcept { return arrays_.contains(name); }
    std::int64_t bytes() const noexcept;

    /// The chunks of the store that the arrays are of; get_chunks() takes any number without it.
    void set_chunks(std::int64_t chunks) noexcept { chunks_ = chunks; }
    std::int64_t chunks() const noexcept { return chunks_; }

    /// With a checksum (io/checksum.h), which read() checks; `hint` says what to do with a damaged file.
    void write(const std::filesystem::path&, const std::map<std::string, std::string>& metadata) const;
    static Arrays read(const std::filesystem::path&, const std::string& hint = {},
                       std::map<std::string, std::string>* metadata = nullptr);

private:
    struct Array {
        io::DType dtype = io::DType::F32;
        std::vector<std::int64_t> shape;
        std::vector<std::byte> bytes;
    };
    std::map<std::string, Array> arrays_;
    const Array& at(const std::string& name) const;

    std::filesystem::path file_;
    std::string hint_;
    std::int64_t chunks_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace headlight::corpus
