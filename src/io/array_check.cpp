// SPDX-License-Identifier: GPL-3.0-or-later
#include "io/array_check.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "io/safetensors_header.h"

#include <set>
#include <string_view>

namespace headlight::io {
namespace {

template <class Array>
void check_size(const std::filesystem::path& file, const Array& array, std::uint64_t found) {
    std::int64_t bytes = 0;
    if (!checked_byte_size(array.shape, size_of(array.dtype), bytes) || static_cast<std::uint64_t>(bytes) == found) return;
    throw Error(
        ErrorFacts{.problem = "Shape and bytes do not fit",
                   .file = file.string(),
                   .item = "tensor " + array.name,
                   .expected = bytes_text(bytes) + " for " + std::string(name_of(array.dtype)) + " " + shape_text(array.shape),
                   .found = bytes_text(found)});
}

}  // namespace

void check_arrays(const std::filesystem::path& file, const std::vector<ArrayStream>& arrays, const std::string& reserved_name) {
    std::set<std::string_view> names;
    for (const ArrayStream& array : arrays) {
        ErrorFacts facts{.file = file.string(), .item = "tensor " + array.name};
        std::int64_t bytes = 0;
        if (array.name.empty() || array.name == reserved_name) {
            facts.problem = "This name cannot be written";
        } else if (!names.insert(array.name).second) {
            facts.problem = "The same name twice";
        } else if (!checked_byte_size(array.shape, size_of(array.dtype), bytes)) {
            facts.problem = "The shape overflows 64 bits";
            facts.found = shape_text(array.shape);
        } else {
            continue;
        }
        throw Error(std::move(facts));
    }
}

std::vector<ArrayStream> streams_of(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays) {
    std::vector<ArrayStream> streams;
    for (const ArrayRef& array : arrays) {
        check_size(file, array, array.bytes.size());
        streams.push_back({array.name, array.dtype, array.shape, [bytes = array.bytes](const PutBytes& put) { put(bytes); }});
    }
    return streams;
}

void feed_whole(const std::filesystem::path& file, const ArrayStream& array, const PutBytes& put) {
    std::uint64_t fed = 0;
    array.feed([&](std::span<const std::byte> bytes) {
        fed += bytes.size();
        put(bytes);
    });
    check_size(file, array, fed);
}

void put_bytes(std::ostream& out, std::span<const std::byte> bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out) throw Error("Cannot write the file");  // write_atomically() says why
}

}  // namespace headlight::io
