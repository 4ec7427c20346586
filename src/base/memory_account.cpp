// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/memory_account.h"

#include "headlight/base/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

namespace headlight {

struct MemoryAccount::State {
    MemoryUse use;
    GiveUp give_up;
    std::atomic<std::int64_t> bytes = 0;
    /// Held while it gives up. Recursive: what is given up may own accounts, and take the last owner of this one with it.
    std::recursive_mutex mutex;
    bool open = true;
};

namespace {

constexpr bool is_made_again(MemoryUse use) { return use <= MemoryUse::layers; }

struct Ledger {
    std::array<std::atomic<std::int64_t>, std::size(memory_uses)> in_use{};
    std::mutex mutex;  ///< of the list
    std::vector<std::shared_ptr<MemoryAccount::State>> accounts;
    std::mutex giving_up;  ///< one thread at a time sees to it

    std::atomic<std::int64_t>& of(MemoryUse use) { return in_use[static_cast<std::size_t>(use)]; }
    std::int64_t sum(bool made_again) {
        std::int64_t bytes = 0;
        for (const EnumRow<MemoryUse>& row : memory_uses)
            if (is_made_again(row.value) == made_again) bytes += of(row.value);
        return bytes;
    }
};

/// Never destroyed: owners of accounts may be static.
Ledger& ledger() {
    static Ledger& one = *new Ledger;
    return one;
}

}  // namespace

MemoryAccount::MemoryAccount(MemoryUse use, GiveUp give_up) : state_(std::make_shared<State>()) {
    state_->use = use;
    state_->give_up = std::move(give_up);
    if (!state_->give_up) return;
    const std::lock_guard lock(ledger().mutex);
    ledger().accounts.push_back(state_);
}

MemoryAccount::~MemoryAccount() {
    set(0);
    if (!state_->give_up) return;
    {
        const std::lock_guard lock(ledger().mutex);
        std::erase(ledger().accounts, state_);
    }
    const std::lock_guard lock(state_->mutex);
    state_->open = false;
}

void MemoryAccount::set(std::int64_t bytes) noexcept { ledger().of(state_->use) += bytes - state_->bytes.exchange(bytes); }

void MemoryAccount::add(std::int64_t bytes) noexcept {
    state_->bytes += bytes;
    ledger().of(state_->use) += bytes;
}

std::int64_t MemoryAccount::bytes() const noexcept { return state_->bytes; }

std::int64_t memory_in_use(MemoryUse use) noexcept { return ledger().of(use); }

std::int64_t memory_left() noexcept {
    const std::int64_t budget = memory_budget();
    return std::max(budget - ledger().sum(false), budget / 4);
}

void keep_to_budget(std::int64_t more) {
    Ledger& all = ledger();
    std::int64_t excess = all.sum(true) + more - memory_left();
    if (excess <= 0) return;
    const std::unique_lock turn(all.giving_up, std::try_to_lock);
    if (!turn) return;
    struct Holder {
        MemoryUse use;
        std::int64_t bytes;
        std::shared_ptr<MemoryAccount::State> account;
        /// The largest of a use first: few are touched.
        bool operator<(const Holder& other) const { return use != other.use ? use < other.use : bytes > other.bytes; }
    };
    std::vector<Holder> holders;
    {
        const std::lock_guard lock(all.mutex);
        for (const auto& account : all.accounts)
            if (const std::int64_t bytes = account->bytes; bytes > 0) holders.push_back({account->use, bytes, account});
    }
    std::ranges::sort(holders, std::less());
    for (const Holder& holder : holders) {
        if (excess <= 0) return;
        const std::lock_guard lock(holder.account->mutex);
        if (holder.account->open) excess -= holder.account->give_up(excess);
    }
}

}  // namespace headlight
