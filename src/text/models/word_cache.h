// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headlight::text {

/// A token of one word: bytes [begin, end) of the word.
struct WordToken {
    std::int32_t id = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// Tokens of words seen before. Text repeats its words, so most words are never split twice. Bounded: when full it
/// starts anew. Not thread-safe.
class WordCache {
public:
    static constexpr std::size_t kLongestWord = 64;

    WordCache();
    /// The tokens of `word`, or nullptr data when it is not known. The span holds until the next insert.
    std::span<const WordToken> find(std::string_view word) const noexcept;
    void insert(std::string_view word, std::span<const WordToken> tokens);

private:
    struct Slot {
        std::uint64_t hash = 0;
        std::uint32_t key_begin = 0;
        std::uint32_t tokens_begin = 0;
        std::uint32_t tokens_count = 0;  ///< 0: the slot is free
        std::uint32_t key_size = 0;
    };
    static std::uint64_t hash_of(std::string_view word) noexcept;
    void clear();

    std::vector<Slot> slots_;
    std::vector<char> keys_;
    std::vector<WordToken> tokens_;
    std::size_t used_ = 0;
};

}  // namespace headlight::text
