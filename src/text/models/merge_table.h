// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

namespace headlight::text {

struct Merge {
    std::uint32_t rank = 0;
    std::int32_t id = -1;  ///< of the joined string; -1: the pair is not merged
};

/// Pair of ids -> merge. Open addressing in one block of memory: it is looked up for each pair of neighbours.
class MergeTable {
public:
    explicit MergeTable(std::size_t count) {
        std::size_t size = 16;
        while (size < count * 2) size *= 2;
        slots_.resize(size);
    }
    Merge find(std::int32_t a, std::int32_t b) const noexcept {
        const std::uint64_t key = key_of(a, b);
        for (std::size_t i = home(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].key == key || slots_[i].merge.id < 0) return slots_[i].key == key ? slots_[i].merge : Merge{};
        }
    }
    /// A pair that is there already gets the new merge, as a later line of merges.txt overrides an earlier one.
    void set(std::int32_t a, std::int32_t b, Merge merge) noexcept {
        const std::uint64_t key = key_of(a, b);
        std::size_t i = home(key);
        while (slots_[i].merge.id >= 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = {key, merge};
    }

private:
    struct Slot {
        std::uint64_t key = UINT64_MAX;
        Merge merge;
    };
    static std::uint64_t key_of(std::int32_t a, std::int32_t b) noexcept {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32 | static_cast<std::uint32_t>(b);
    }
    std::size_t home(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> 20) & (slots_.size() - 1);
    }
    std::vector<Slot> slots_;
};

}  // namespace headlight::text
