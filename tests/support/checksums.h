// SPDX-License-Identifier: GPL-3.0-or-later
// Files with checksums after a change that is meant: damage has none.
#pragma once

#include "headlight/io/checksum.h"
#include "tests/support/temp_folder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace headlight::test {

/// The text of a JSON object whose last member is its checksum, with the one that it should have.
inline std::string with_new_checksum(std::string text) {
    text.erase(std::min(text.rfind(",\"sha256\":"), text.size()));
    return io::with_checksum(text + "}") + "\n";
}

/// The same of a file, JSON or safetensors.
inline void renew_checksum(const std::filesystem::path& file) {
    if (file.extension() == ".json") {
        const std::string text = with_new_checksum(slurp(file));
        std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
        return;
    }
    const io::TensorStore store = io::TensorStore::open_file(file);
    std::vector<io::ArrayRef> arrays;
    for (const auto& [name, view] : store.tensors()) arrays.push_back({name, view.dtype, view.shape, view.bytes});
    io::write_checked_safetensors(file, arrays, store.metadata());
}

/// One bit of a file changed.
inline void flip_bit(const std::filesystem::path& file, std::size_t byte, int bit = 0) {
    std::string bytes = slurp(file);
    bytes.at(byte) = static_cast<char>(bytes.at(byte) ^ (1 << bit));
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace headlight::test
