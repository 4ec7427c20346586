// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace headlight::io {

/// Whether value.get<T>() is the value as it is written, where it takes the value at all. For whole numbers, and lists and maps
/// of them, get() itself takes 2.7 as 2, -1 as 2^64 - 1, true as 1.
template <class T>
bool holds(const nlohmann::json& value) {
    const auto all = [&]<class Item>(std::type_identity<Item>) {
        return std::ranges::all_of(value, [](const nlohmann::json& item) { return holds<Item>(item); });
    };
    if (value.is_string() || value.is_null()) return true;  // get() refuses them where they are of another kind
    if constexpr (std::is_convertible_v<T, std::string> || std::is_same_v<T, bool>) {
        return true;
    } else if constexpr (requires { typename T::mapped_type; }) {
        return value.is_object() && all(std::type_identity<typename T::mapped_type>());
    } else if constexpr (requires { typename T::value_type; }) {
        return value.is_array() && all(std::type_identity<typename T::value_type>());
    } else if constexpr (std::is_integral_v<T>) {
        if (value.is_number_unsigned()) return std::in_range<T>(value.get<std::uint64_t>());
        if (value.is_number_integer()) return std::in_range<T>(value.get<std::int64_t>());
        // 2.0 and 1e6 are whole numbers; beyond 2^53 a double may stand for its neighbours.
        const double number = value.is_number_float() ? value.get<double>() : 0.5;
        return std::abs(number) <= 0x1p53 && number == std::trunc(number) && std::in_range<T>(static_cast<std::int64_t>(number));
    } else {
        return true;
    }
}

}  // namespace headlight::io
