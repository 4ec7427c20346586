// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

/// SentencePiece's precompiled_charsmap: a double-array trie (Aoe 1989, as Darts-clone packs it) of what is replaced, and
/// the replacements.
class Charsmap {
public:
    Charsmap() = default;  ///< replaces nothing
    /// Base64 as in tokenizer.json, or the bytes themselves. Error for what is no such table.
    explicit Charsmap(const Field&);

    /// What the shortest entry that `text` begins with is replaced by; nothing when there is none.
    std::optional<std::string_view> shortest(std::string_view text) const;
    struct Found {
        std::string_view replacement;
        std::size_t size = 0;  ///< bytes of the text that are replaced
    };
    std::optional<Found> longest(std::string_view text) const;

private:
    template <class F>
    void walk(std::string_view text, F found) const;
    std::vector<std::uint32_t> units_;
    std::string strings_;
};

}  // namespace headlight::text
