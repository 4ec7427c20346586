// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/request_fields.h"

#include "headlight/base/index_list.h"

#include <array>
#include <charconv>
#include <type_traits>

namespace headlight::intervention {
namespace {

/// Every digit that is needed to read the same number.
std::string shortest(double value) {
    std::array<char, 32> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace

std::vector<FieldWords> field_words(const SweepRequest& request) {
    std::vector<FieldWords> out;
    visit_fields(request, [&](const char* name, const auto& value) {
        using T = std::decay_t<decltype(value)>;
        std::vector<std::string>& words = out.emplace_back(FieldWords{name, {}}).values;
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
            words = value;
        } else if constexpr (std::is_same_v<T, bool>) {
            if (value) words = {""};
        } else {
            std::string word;
            if constexpr (std::is_same_v<T, std::string>)
                word = value;
            else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
                word = index_list_text(value);
            else if constexpr (std::is_enum_v<T>)
                word = enum_word(value);
            else if constexpr (std::is_floating_point_v<T>)
                word = shortest(value);
            else
                word = std::to_string(value);
            if (!word.empty()) words = {word};
        }
    });
    return out;
}

}  // namespace headlight::intervention
