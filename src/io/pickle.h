// SPDX-License-Identifier: GPL-3.0-or-later
// A reader of Python pickles that runs nothing. It builds plain values; a global is a name and a call is a record of
// what would have been called with what. Names outside the caller's list are refused before anything is made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::io {

enum class PickleKind { none, boolean, integer, real, text, bytes, tuple, list, dict, global, call, persistent };

struct PickleValue {
    PickleKind kind = PickleKind::none;
    std::int64_t integer = 0;  ///< also of a boolean
    double real = 0;
    std::string text;  ///< also of bytes; of a global "module.name"
    /// Of a tuple or list its items; of a dict key, value, key, value …; of a call the callable and the tuple of its
    /// arguments; of a persistent id what names it. Values may be shared and are never owned.
    std::vector<const PickleValue*> items;
};

struct Pickle {
    std::deque<PickleValue> values;  ///< all of them; pointers stay valid when a Pickle is moved
    const PickleValue* root = nullptr;
};

/// Reads one pickle (protocols 0 to 5, without the opcodes that make objects of classes or read beside the file).
/// `collections.OrderedDict()` becomes a dict; the attributes that a dict is given are dropped.
/// Errors name the file and the opcode or the global with its place: "os.system at byte 40". Size and number of values
/// are limited, nesting costs no stack. `used`: how many of the bytes it took; without it they are all of it.
Pickle read_pickle(std::span<const std::byte> bytes, const std::filesystem::path& file,
                   std::span<const std::string_view> allowed_globals, std::size_t* used = nullptr);

}  // namespace headlight::io
