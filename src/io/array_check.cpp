// SPDX-License-Identifier: GPL-3.0-or-later
#include "io/array_check.h"

#include "headlight/base/error.h"
#include "headlight/base/numbers.h"
#include "io/safetensors_header.h"

#include <set>
#include <string_view>

namespace headlight::io {

void check_arrays(const std::filesystem::path& file, const std::vector<ArrayRef>& arrays, const std::string& reserved_name) {
    std::set<std::string_view> names;
    for (const ArrayRef& array : arrays) {
        ErrorFacts facts{.file = file.string(), .item = "tensor " + array.name};
        std::int64_t bytes = 0;
        if (array.name.empty() || array.name == reserved_name) {
            facts.problem = "This name cannot be written";
        } else if (!names.insert(array.name).second) {
            facts.problem = "The same name twice";
        } else if (!checked_byte_size(array.shape, size_of(array.dtype), bytes)) {
            facts.problem = "The shape overflows 64 bits";
            facts.found = shape_text(array.shape);
        } else if (array.bytes.size() != static_cast<std::size_t>(bytes)) {
            facts.problem = "Shape and bytes do not fit";
            facts.expected = bytes_text(bytes) + " for " + std::string(name_of(array.dtype)) + " " + shape_text(array.shape);
            facts.found = bytes_text(array.bytes.size());
        } else {
            continue;
        }
        throw Error(std::move(facts));
    }
}

}  // namespace headlight::io
