// SPDX-License-Identifier: GPL-3.0-or-later
// GGUF files by hand, sound or not.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::test {

template <class T>
std::string raw(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

inline std::string gguf_text(std::string_view text) { return raw<std::uint64_t>(text.size()) + std::string(text); }

/// A metadata entry: key, number of the type, bytes of the value.
inline std::string gguf_entry(std::string_view key, std::uint32_t type, std::string_view value) {
    return gguf_text(key) + raw(type) + std::string(value);
}

/// A tensor's entry; sizes innermost first, as the format has them.
inline std::string gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                               std::uint64_t offset) {
    std::string bytes = gguf_text(name) + raw(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) bytes += raw(size);
    return bytes + raw(type) + raw(offset);
}

/// Header, entries and data at the next multiple of the alignment.
inline std::string gguf_file(const std::vector<std::string>& entries, const std::vector<std::string>& tensors,
                             std::string_view data, std::uint32_t version = 3, std::size_t alignment = 32) {
    std::string file = "GGUF" + raw(version) + raw<std::uint64_t>(tensors.size()) + raw<std::uint64_t>(entries.size());
    for (const std::string& entry : entries) file += entry;
    for (const std::string& tensor : tensors) file += tensor;
    if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment, '\0');
    return file.append(data);
}

}  // namespace headlight::test
