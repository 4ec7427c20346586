// SPDX-License-Identifier: GPL-3.0-or-later
// Files as torch.save writes them, made by hand, so that tests can spoil any part.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headlight::test {

inline std::string little(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value);
    return out;
}

/// A zip archive of stored members.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
    std::string out, directory;
    for (const auto& [name, content] : members) {
        const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
        const std::string common = little(20, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(crc, 4) +
                                   little(content.size(), 4) + little(content.size(), 4) + little(name.size(), 2) + little(0, 2);
        directory += "PK\x01\x02" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) +
                     little(out.size(), 4) + name;
        out += "PK\x03\x04" + common + name + content;
    }
    const std::size_t at = out.size();
    return out + directory + "PK\x05\x06" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
           little(directory.size(), 4) + little(at, 4) + little(0, 2);
}

// Pieces of a pickle of protocol 2.
inline std::string py_text(std::string_view text) { return "X" + little(text.size(), 4) + std::string(text); }
inline std::string py_int(std::int64_t value) { return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8); }
inline std::string py_global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
inline std::string py_tuple(const std::string& items) { return "(" + items + "t"; }
inline std::string py_ints(const std::vector<std::int64_t>& values) {
    std::string items;
    for (const std::int64_t value : values) items += py_int(value);
    return py_tuple(items);
}
inline std::string py_storage(const std::string& type, const std::string& key, std::int64_t count) {
    return py_tuple(py_text("storage") + py_global("torch", type) + py_text(key) + py_text("cpu") + py_int(count)) + "Q";
}
inline std::string py_tensor(const std::string& storage, std::int64_t offset, const std::vector<std::int64_t>& shape,
                             const std::vector<std::int64_t>& strides) {
    return py_global("torch._utils", "_rebuild_tensor_v2") +
           py_tuple(storage + py_int(offset) + py_ints(shape) + py_ints(strides) + "\x89" +
                    py_global("collections", "OrderedDict") + ")R") +
           "R";
}
/// A dict of key and value pieces.
inline std::string py_dict(const std::vector<std::pair<std::string, std::string>>& items) {
    std::string out = "}(";
    for (const auto& [key, value] : items) out += py_text(key) + value;
    return out + "u";
}
inline std::string py_pickle(const std::string& value) { return "\x80\x02" + value + "."; }

/// A whole file: the pickled value and the storages "0", "1", …
inline std::string torch_archive(const std::string& value, const std::vector<std::string>& storages) {
    std::vector<std::pair<std::string, std::string>> members{{"archive/data.pkl", py_pickle(value)},
                                                             {"archive/byteorder", "little"}};
    for (std::size_t i = 0; i < storages.size(); ++i) members.emplace_back("archive/data/" + std::to_string(i), storages[i]);
    members.emplace_back("archive/version", "3\n");
    return zip_of(members);
}

}  // namespace headlight::test
