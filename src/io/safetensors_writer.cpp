// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/safetensors.h"
#include "io/array_check.h"
#include "io/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace headlight::io {

void write_safetensors(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays,
                       const std::map<std::string, std::string>& metadata) {
    stream_safetensors(file, streams_of(file, arrays), metadata);
}

void stream_safetensors(const std::filesystem::path& file, const std::vector<ArrayStream>& arrays,
                        const std::map<std::string, std::string>& metadata) {
    check_arrays(file, arrays, "__metadata__");
    // Wide elements first: with a header padded to 8 bytes every tensor then starts at a multiple of its element size.
    std::vector<const ArrayStream*> order;
    for (const ArrayStream& array : arrays) order.push_back(&array);
    std::sort(order.begin(), order.end(), [](const ArrayStream* a, const ArrayStream* b) {
        return std::tuple(-size_of(a->dtype), std::string_view(a->name)) <
               std::tuple(-size_of(b->dtype), std::string_view(b->name));
    });

    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::int64_t at = 0;
    for (const ArrayStream* array : order) {
        std::int64_t size = 0, end = 0;
        if (!checked_byte_size(array->shape, size_of(array->dtype), size) || __builtin_add_overflow(at, size, &end))
            throw Error(
                ErrorFacts{.problem = "The tensors overflow 64 bits", .file = file.string(), .item = "tensor " + array->name});
        header[array->name] = {{"dtype", name_of(array->dtype)}, {"shape", array->shape}, {"data_offsets", {at, end}}};
        at = end;
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const nlohmann::json::exception&) {
        throw Error(
            ErrorFacts{.problem = "Cannot write the header", .file = file.string(), .expected = "names and metadata in UTF-8"});
    }
    text.resize((text.size() + 7) / 8 * 8, ' ');

    write_atomically(file, [&](std::ostream& out) {
        char length[8];
        for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
        out.write(length, sizeof length);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        for (const ArrayStream* array : order)
            feed_whole(file, *array, [&](std::span<const std::byte> bytes) { put_bytes(out, bytes); });
    });
}

}  // namespace headlight::io
