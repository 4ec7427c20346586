// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "text/files/json_fields.h"
#include "text/models/vocab.h"
#include "text/normalizers/normalizer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

struct AddedToken {
    std::int32_t id = 0;
    std::string content;
    bool single_word = false;
    bool lstrip = false;
    bool rstrip = false;
    bool normalized = true;
    bool special = false;
};

/// Finds any of a set of strings in a text: at each place the longest, never overlapping.
class TokenMatcher {
public:
    /// False when the string is empty or present already.
    bool add(const std::string& pattern, std::int32_t id);
    void finish();
    bool empty() const noexcept { return patterns_.empty(); }

    struct Found {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::int32_t id = 0;
    };
    std::optional<Found> next(std::string_view text, std::size_t from) const;

private:
    std::vector<std::pair<std::string, std::int32_t>> patterns_;  ///< sorted by first byte, longest first
    std::set<std::string> seen_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> by_first_;
    std::string first_bytes_;
};

/// The tokens that are cut out of the text before the model sees it.
class AddedTokens {
public:
    /// `items` may be absent. Ids that disagree with the vocabulary are an Error.
    AddedTokens(const std::optional<Field>& items, const Vocab& vocab, const Normalizer* normalizer);

    /// A part of a text: an added token, or what lies between.
    struct Piece {
        std::size_t begin = 0;
        std::size_t end = 0;
        std::int32_t id = -1;
    };
    /// `normalized`: whether to look for the tokens that are matched in the normalized text, or for the others.
    std::vector<Piece> cut(std::string_view text, bool normalized) const;

    const AddedToken* find(std::int32_t id) const;
    const AddedToken* find(std::string_view content) const;
    std::int32_t highest_id() const noexcept { return tokens_.empty() ? -1 : tokens_.rbegin()->first; }

private:
    void add(const Field& item, const Vocab& vocab, std::int32_t& next_id);

    std::map<std::int32_t, AddedToken> tokens_;
    std::map<std::string, std::int32_t, std::less<>> ids_;
    TokenMatcher typed_;
    TokenMatcher normalized_;
};

}  // namespace headlight::text
