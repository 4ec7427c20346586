// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/io/atomic_file.h"
#include "headlight/io/safetensors.h"
#include "io/array_check.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <tuple>

namespace headlight::io {

void write_safetensors(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays,
                       const std::map<std::string, std::string>& metadata) {
    check_arrays(file, arrays, "__metadata__");
    // Wide elements first: with a header padded to 8 bytes every tensor then starts at a multiple of its element size.
    std::vector<const ArrayRef*> order;
    for (const ArrayRef& array : arrays) order.push_back(&array);
    std::sort(order.begin(), order.end(), [](const ArrayRef* a, const ArrayRef* b) {
        return std::tuple(-size_of(a->dtype), std::string_view(a->name)) <
               std::tuple(-size_of(b->dtype), std::string_view(b->name));
    });

    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t at = 0;
    for (const ArrayRef* array : order) {
        header[array->name] = {
            {"dtype", name_of(array->dtype)}, {"shape", array->shape}, {"data_offsets", {at, at + array->bytes.size()}}};
        at += array->bytes.size();
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
        for (const ArrayRef* array : order)
            out.write(reinterpret_cast<const char*>(array->bytes.data()), static_cast<std::streamsize>(array->bytes.size()));
    });
}

}  // namespace headlight::io
