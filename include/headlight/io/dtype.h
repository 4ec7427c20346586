// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string_view>

namespace headlight::io {

/// Element types as the safetensors header spells them.
enum class DType { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool, F8_E4M3 };

std::int64_t size_of(DType) noexcept;      ///< bytes an element
std::string_view name_of(DType) noexcept;  ///< "F32"
bool parse_dtype(std::string_view name, DType& out) noexcept;

}  // namespace headlight::io
