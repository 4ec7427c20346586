// SPDX-License-Identifier: GPL-3.0-or-later
#include "text/models/word_cache.h"

#include <algorithm>
#include <cstring>

namespace headlight::text {
namespace {

constexpr std::size_t kFirstSlots = 1u << 10;
constexpr std::size_t kMostWords = 1u << 17;

}  // namespace

WordCache::WordCache() : slots_(kFirstSlots) {}

std::uint64_t WordCache::hash_of(std::string_view word) noexcept {
    std::uint64_t h = 0x9E3779B97F4A7C15ULL ^ word.size();
    const char* p = word.data();
    std::size_t n = word.size();
    const auto mix = [&h](std::uint64_t part) {
        h = (h ^ part) * 0xD6E8FEB86659FD93ULL;
        h ^= h >> 32;
    };
    for (; n >= 8; n -= 8, p += 8) {
        std::uint64_t part = 0;
        std::memcpy(&part, p, 8);
        mix(part);
    }
    if (n > 0) {
        std::uint64_t part = 0;
        std::memcpy(&part, p, n);
        mix(part);
    }
    return h;
}

std::span<const WordToken> WordCache::find(std::string_view word) const noexcept {
    if (word.size() > kLongestWord) return {};
    const std::uint64_t h = hash_of(word);
    for (std::size_t i = h & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
        const Slot& s = slots_[i];
        if (s.tokens_count == 0) return {};
        if (s.hash == h && s.key_size == word.size() && std::memcmp(keys_.data() + s.key_begin, word.data(), word.size()) == 0) {
            return {tokens_.data() + s.tokens_begin, s.tokens_count};
        }
    }
}

void WordCache::insert(std::string_view word, std::span<const WordToken> tokens) {
    if (word.size() > kLongestWord || tokens.empty()) return;
    if (used_ >= kMostWords) clear();
    if (used_ * 2 >= slots_.size()) {
        std::vector<Slot> larger(slots_.size() * 2);
        for (const Slot& s : slots_) {
            if (s.tokens_count == 0) continue;
            std::size_t i = s.hash & (larger.size() - 1);
            while (larger[i].tokens_count != 0) i = (i + 1) & (larger.size() - 1);
            larger[i] = s;
        }
        slots_ = std::move(larger);
    }
    const std::uint64_t h = hash_of(word);
    std::size_t i = h & (slots_.size() - 1);
    while (slots_[i].tokens_count != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {h, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(tokens_.size()),
                 static_cast<std::uint32_t>(tokens.size()), static_cast<std::uint32_t>(word.size())};
    keys_.insert(keys_.end(), word.begin(), word.end());
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    ++used_;
}

void WordCache::clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    keys_.clear();
    tokens_.clear();
    used_ = 0;
}

}  // namespace headlight::text
