// SPDX-License-Identifier: GPL-3.0-or-later
// One account of the program's memory: whoever holds much of it reports its bytes here, and what can be made again gives some up
// when all together exceed memory_budget().
#pragma once

#include "headlight/base/enum_table.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace headlight {

/// What takes memory, in the order in which it is given up. The first four can be made again. The others are what the program
/// works with and stay: of them the budget decides beforehand how much is made (remade.h, as_used.h).
enum class MemoryUse { spare, results, pictures, layers, maps, runs, weights };
inline constexpr EnumRow<MemoryUse> memory_uses[] = {
    {MemoryUse::spare, "spare", "Kept for the next run"},   {MemoryUse::results, "results", "Results of views"},
    {MemoryUse::pictures, "pictures", "Pictures of views"}, {MemoryUse::layers, "layers", "Recomputed layers"},
    {MemoryUse::maps, "maps", "Map of queries and keys"},   {MemoryUse::runs, "runs", "Tensors of runs"},
    {MemoryUse::weights, "weights", "Weights, converted"},
};
constexpr const auto& enum_rows(MemoryUse) { return memory_uses; }

/// The share of one holder. Reports and is asked from any thread.
class MemoryAccount {
public:
    /// Gives up about `bytes`, or what there is, and returns how many bytes have become free or will before long. Called from any
    /// thread, which may hold locks of other holders: waits for nothing.
    using GiveUp = std::function<std::int64_t(std::int64_t bytes)>;
    explicit MemoryAccount(MemoryUse, GiveUp = {});
    /// Waits for a call of `GiveUp` that is under way in another thread.
    ~MemoryAccount();
    MemoryAccount(const MemoryAccount&) = delete;
    MemoryAccount& operator=(const MemoryAccount&) = delete;

    void set(std::int64_t bytes) noexcept;
    void add(std::int64_t bytes) noexcept;
    std::int64_t bytes() const noexcept;

    struct State;

private:
    std::shared_ptr<State> state_;
};

std::int64_t memory_in_use(MemoryUse) noexcept;
/// What weights, runs and maps leave of memory_budget(), and at least a quarter of it: room for a run, and for what is made
/// again.
std::int64_t memory_left() noexcept;
/// Where what can be made again takes more than memory_left(), or would with `more` bytes, its holders give up in the order of
/// MemoryUse. For those whose share has grown, and before work that needs memory; holding no lock that a GiveUp takes. Never
/// waits.
void keep_to_budget(std::int64_t more = 0);

}  // namespace headlight
