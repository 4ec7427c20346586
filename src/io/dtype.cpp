// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/dtype.h"

#include <array>

namespace headlight::io {
namespace {

struct Row {
    DType dtype;
    std::string_view name;
    std::int64_t size;
};

constexpr std::array<Row, 11> kRows{{{DType::F64, "F64", 8},
                                     {DType::F32, "F32", 4},
                                     {DType::F16, "F16", 2},
                                     {DType::BF16, "BF16", 2},
                                     {DType::I64, "I64", 8},
                                     {DType::I32, "I32", 4},
                                     {DType::I16, "I16", 2},
                                     {DType::I8, "I8", 1},
                                     {DType::U8, "U8", 1},
                                     {DType::Bool, "BOOL", 1},
                                     {DType::F8_E4M3, "F8_E4M3", 1}}};

const Row& row_of(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::int64_t size_of(DType dtype) noexcept { return row_of(dtype).size; }

std::string_view name_of(DType dtype) noexcept { return row_of(dtype).name; }

bool parse_dtype(std::string_view name, DType& out) noexcept {
    for (const Row& row : kRows) {
        if (row.name == name) {
            out = row.dtype;
            return true;
        }
    }
    return false;
}

}  // namespace headlight::io
