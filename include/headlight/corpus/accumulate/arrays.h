// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/io/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace headlight::corpus {

/// Counts of queries or texts in a file are below it, so that those of many segments can be added.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 50;

/// Values in a mapped file, or a copy of them, which live as long as the view.
template <class T>
class ArrayView : public std::span<const T> {
public:
    ArrayView() = default;
    ArrayView(std::span<const T> values, std::shared_ptr<const void> owner)
        : std::span<const T>(values), owner_(std::move(owner)) {}

private:
    std::shared_ptr<const void> owner_;
};

/// Arrays of a safetensors file, by name. Those that are read stay in the mapped file. T is float, double, std::int64_t,
/// std::int32_t, std::int16_t or std::uint8_t.
class Arrays {
public:
    /// Copies the values. `shape` must multiply to their number.
    template <class T>
    void put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> values);
    /// Error naming the file and the array: missing, or another type or shape. -1 in `shape` matches any size.
    template <class T>
    std::vector<T> get(const std::string& name, const std::vector<std::int64_t>& shape) const;
    /// The same without a copy where the file has them aligned.
    template <class T>
    ArrayView<T> view(const std::string& name, const std::vector<std::int64_t>& shape) const;
    /// get(), all from `least` to `most`, so no NaN; else throw_damaged().
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
    std::int64_t bytes() const noexcept;  ///< of those that are not in a mapped file

    /// The chunks of the store that the arrays are of; get_chunks() takes any number without it.
    void set_chunks(std::int64_t chunks) noexcept { chunks_ = chunks; }
    std::int64_t chunks() const noexcept { return chunks_; }

    /// With a checksum (io/checksum.h), which read() checks; `hint` says what to do with a damaged file.
    void write(const std::filesystem::path&, const std::map<std::string, std::string>& metadata) const;
    /// The file may be replaced or deleted while its arrays are in use, but not written over.
    static Arrays read(const std::filesystem::path&, const std::string& hint = {},
                       std::map<std::string, std::string>* metadata = nullptr);

private:
    struct Array {
        io::DType dtype = io::DType::F32;
        std::vector<std::int64_t> shape;
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
        bool mapped = false;
    };
    std::map<std::string, Array> arrays_;
    const Array& at(const std::string& name) const;

    std::filesystem::path file_;
    std::string hint_;
    std::int64_t chunks_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace headlight::corpus
