// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/corpus/accumulate/arrays.h"

#include "headlight/base/error.h"
#include "headlight/io/checksum.h"

#include <cstring>
#include <type_traits>

namespace headlight::corpus {
namespace {

template <class T>
constexpr io::DType dtype_of() {
    if constexpr (std::is_same_v<T, float>) return io::DType::F32;
    if constexpr (std::is_same_v<T, double>) return io::DType::F64;
    if constexpr (std::is_same_v<T, std::int64_t>) return io::DType::I64;
    if constexpr (std::is_same_v<T, std::int32_t>) return io::DType::I32;
    if constexpr (std::is_same_v<T, std::int16_t>) return io::DType::I16;
    return io::DType::U8;
}

std::int64_t product(const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        text += (i ? ", " : "") + (shape[i] < 0 ? std::string("any") : std::to_string(shape[i]));
    return text + "]";
}

bool fits(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& wanted) {
    if (shape.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (wanted[i] >= 0 && shape[i] != wanted[i]) return false;
    return true;
}

}  // namespace

template <class T>
void Arrays::put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> values) {
    if (product(shape) != static_cast<std::int64_t>(values.size()))
        throw Error({.problem = "An array has another number of values than its shape",
                     .item = name,
                     .expected = shape_text(shape),
                     .found = std::to_string(values.size()) + " values"});
    const auto bytes = std::as_bytes(values);
    const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
    arrays_[name] = {dtype_of<T>(), std::move(shape), *copy, copy};
}

const Arrays::Array& Arrays::at(const std::string& name) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end())
        throw Error({.problem = "An array is missing",
                     .file = file_.string(),
                     .item = name,
                     .hint = "The file is of another version, or another program wrote it"});
    return found->second;
}

std::vector<std::int64_t> Arrays::shape(const std::string& name) const { return at(name).shape; }

template <class T>
void Arrays::require(const std::string& name, const std::vector<std::int64_t>& shape) const {
    const Array& array = at(name);
    if (array.dtype != dtype_of<T>() || !fits(array.shape, shape))
        throw Error({.problem = "An array has another type or shape than expected",
                     .file = file_.string(),
                     .item = name,
                     .expected = std::string(io::name_of(dtype_of<T>())) + " " + shape_text(shape),
                     .found = std::string(io::name_of(array.dtype)) + " " + shape_text(array.shape),
                     .hint = hint_});
}

template <class T>
std::vector<T> Arrays::get(const std::string& name, const std::vector<std::int64_t>& shape) const {
    require<T>(name, shape);
    const Array& array = at(name);
    std::vector<T> values(array.bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    return values;
}

template <class T>
ArrayView<T> Arrays::view(const std::string& name, const std::vector<std::int64_t>& shape) const {
    require<T>(name, shape);
    const Array& array = at(name);
    if (reinterpret_cast<std::uintptr_t>(array.bytes.data()) % alignof(T) == 0)
        return {{reinterpret_cast<const T*>(array.bytes.data()), array.bytes.size() / sizeof(T)}, array.owner};
    const auto copy = std::make_shared<const std::vector<T>>(get<T>(name, shape));
    return {*copy, copy};
}

template <class T>
std::vector<T> Arrays::get_within(const std::string& name, const std::vector<std::int64_t>& shape, T least, T most) const {
    std::vector<T> values = get<T>(name, shape);
    for (const T value : values)
        if (!(value >= least && value <= most))
            throw_damaged(name, std::to_string(least) + " to " + std::to_string(most), std::to_string(value));
    return values;
}

std::vector<std::int64_t> Arrays::get_chunks(const std::string& name, const std::vector<std::int64_t>& shape,
                                             std::int64_t least) const {
    return get_within<std::int64_t>(name, shape, least, chunks_ - 1);
}

void Arrays::throw_damaged(const std::string& name, const std::string& expected, const std::string& found) const {
    throw Error({.problem = "The numbers of a store do not fit each other",
                 .file = file_.string(),
                 .item = name,
                 .expected = expected,
                 .found = found,
                 .hint = hint_.empty() ? "Run the corpus again, or restore the file from a copy" : hint_});
}

std::int64_t Arrays::bytes() const noexcept {
    std::int64_t sum = 0;
    for (const auto& [name, array] : arrays_)
        if (!array.mapped) sum += static_cast<std::int64_t>(array.bytes.size());
    return sum;
}

void Arrays::write(const std::filesystem::path& file, const std::map<std::string, std::string>& metadata) const {
    std::vector<io::ArrayRef> refs;
    for (const auto& [name, array] : arrays_) refs.push_back({name, array.dtype, array.shape, array.bytes});
    io::write_checked_safetensors(file, refs, metadata);
}

Arrays Arrays::read(const std::filesystem::path& file, const std::string& hint, std::map<std::string, std::string>* metadata) {
    const io::TensorStore store = io::open_checked_safetensors(file, hint);
    Arrays arrays;
    arrays.file_ = file;
    arrays.hint_ = hint;
    for (const auto& [name, view] : store.tensors())
        arrays.arrays_[name] = {view.dtype, view.shape, view.bytes, view.owner, true};
    if (metadata) *metadata = store.metadata();
    return arrays;
}

#define HEADLIGHT_ARRAY_TYPE(T)                                                                         \
    template void Arrays::put<T>(const std::string&, std::vector<std::int64_t>, std::span<const T>);    \
    template void Arrays::require<T>(const std::string&, const std::vector<std::int64_t>&) const;       \
    template std::vector<T> Arrays::get<T>(const std::string&, const std::vector<std::int64_t>&) const; \
    template ArrayView<T> Arrays::view<T>(const std::string&, const std::vector<std::int64_t>&) const;
HEADLIGHT_ARRAY_TYPE(float)
HEADLIGHT_ARRAY_TYPE(double)
HEADLIGHT_ARRAY_TYPE(std::int64_t)
HEADLIGHT_ARRAY_TYPE(std::int32_t)
HEADLIGHT_ARRAY_TYPE(std::int16_t)
HEADLIGHT_ARRAY_TYPE(std::uint8_t)
#undef HEADLIGHT_ARRAY_TYPE
#define HEADLIGHT_ORDERED_TYPE(T) \
    template std::vector<T> Arrays::get_within<T>(const std::string&, const std::vector<std::int64_t>&, T, T) const;
HEADLIGHT_ORDERED_TYPE(float)
HEADLIGHT_ORDERED_TYPE(std::int64_t)
HEADLIGHT_ORDERED_TYPE(std::int32_t)
HEADLIGHT_ORDERED_TYPE(std::int16_t)
HEADLIGHT_ORDERED_TYPE(std::uint8_t)
#undef HEADLIGHT_ORDERED_TYPE

}  // namespace headlight::corpus
