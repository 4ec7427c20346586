// SPDX-License-Identifier: GPL-3.0-or-later
// The words of an enum stand once, in a table beside it:
//
//     enum class Ramp { ink, magma };
//     inline constexpr EnumRow<Ramp> ramps[] = {{Ramp::ink, "ink", "Ink"}, {Ramp::magma, "magma", "Magma"}};
//     constexpr const auto& enum_rows(Ramp) { return ramps; }
//
// Command line, sessions, menus and captions loop over it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

template <class E>
struct EnumRow {
    E value;
    std::string_view word;    ///< on the command line and in sessions: "a-b"
    std::string_view title;   ///< for people: "A → B"
    std::string_view note{};  ///< a tip or a formula, where a title says too little
};

/// An earlier word of a value, which the command line and sessions still read: enum_aliases(E) gives a table of them.
template <class E>
struct EnumAlias {
    std::string_view word;
    E value;
};
template <class E>
concept HasAliases = requires {
    enum_aliases(E{});
};

/// The first row for a value that has none.
template <class E>
constexpr const EnumRow<E>& enum_row(E value) {
    const auto& rows = enum_rows(value);
    for (const EnumRow<E>& row : rows)
        if (row.value == value) return row;
    return rows[0];
}

template <class E>
constexpr std::string_view enum_word(E value) {
    return enum_row(value).word;
}

template <class E>
constexpr std::optional<E> enum_value(std::string_view word) {
    for (const EnumRow<E>& row : enum_rows(E{}))
        if (row.word == word) return row.value;
    if constexpr (HasAliases<E>)
        for (const EnumAlias<E>& alias : enum_aliases(E{}))
            if (alias.word == word) return alias.value;
    return std::nullopt;
}

template <class E>
std::vector<std::string> enum_words() {
    std::vector<std::string> words;
    for (const EnumRow<E>& row : enum_rows(E{})) words.emplace_back(row.word);
    return words;
}

}  // namespace headlight
