// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/memory_account.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace headlight {

/// Results computed from a run or a model and kept with it, so that a figure whose looks or details change need not compute
/// them again. They end with their owner. Thread-safe; two threads that miss the same key at once both compute it,
/// and get the same result. Beyond the budget of memory, results that nobody has in hand are dropped, those used last at the end.
class Results {
public:
    static constexpr std::ptrdiff_t kept_of_a_kind = 4;

    /// The result for `key`, made by `make` if it is not at hand. The type of its key makes a kind; of each the
    /// results used last are kept. `bytes_of` says how much memory a result takes.
    template <class Key, class Make, class BytesOf>
    auto get(const Key& key, Make make, BytesOf bytes_of) -> std::shared_ptr<const std::decay_t<std::invoke_result_t<Make>>> {
        using Result = std::decay_t<std::invoke_result_t<Make>>;
        using Mine = KeptAs<Key, Result>;
        const auto at_hand = [&]() -> std::shared_ptr<const Result> {
            for (auto at = kept_.begin(); at != kept_.end(); ++at)
                if (auto* mine = dynamic_cast<Mine*>(at->get()); mine && mine->key == key) {
                    auto result = mine->result;
                    std::rotate(at, at + 1, kept_.end());
                    return result;
                }
            return nullptr;
        };
        {
            const std::lock_guard lock(mutex_);
            if (auto result = at_hand()) return result;
        }
        auto made = std::make_unique<Mine>(key, std::make_shared<const Result>(make()));
        made->bytes = bytes_of(*made->result);
        auto result = made->result;
        std::unique_ptr<Kept> dropped;  // destroyed without the lock: it may own results and accounts
        {
            const std::lock_guard lock(mutex_);
            if (auto other = at_hand()) return other;
            const auto of_kind = [](const auto& each) { return dynamic_cast<Mine*>(each.get()) != nullptr; };
            if (std::count_if(kept_.begin(), kept_.end(), of_kind) >= kept_of_a_kind)
                dropped = take(std::find_if(kept_.begin(), kept_.end(), of_kind));
            account_.add(made->bytes);
            kept_.push_back(std::move(made));
        }
        keep_to_budget();
        return result;
    }

    /// Memory of everything kept.
    std::int64_t bytes() const { return account_.bytes(); }

private:
    struct Kept {
        virtual ~Kept() = default;
        virtual bool in_hand() const = 0;  ///< somebody else has it too
        std::int64_t bytes = 0;
    };
    using List = std::vector<std::unique_ptr<Kept>>;
    template <class Key, class Result>
    struct KeptAs : Kept {
        KeptAs(Key k, std::shared_ptr<const Result> r) : key(std::move(k)), result(std::move(r)) {}
        bool in_hand() const override { return result.use_count() > 1; }
        Key key;
        std::shared_ptr<const Result> result;
    };

    std::unique_ptr<Kept> take(List::iterator at) {
        std::unique_ptr<Kept> taken = std::move(*at);
        kept_.erase(at);
        account_.add(-taken->bytes);
        return taken;
    }
    std::int64_t give_up(std::int64_t bytes) {
        List dropped;
        std::int64_t freed = 0;
        {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            if (!lock) return 0;
            for (auto at = kept_.begin(); at != kept_.end() && freed < bytes;) {
                if ((*at)->in_hand() || (*at)->bytes == 0) {
                    ++at;
                    continue;
                }
                freed += (*at)->bytes;
                const auto index = at - kept_.begin();
                dropped.push_back(take(at));
                at = kept_.begin() + index;
            }
        }
        return freed;
    }

    mutable std::mutex mutex_;
    List kept_;  ///< used last at the end
    MemoryAccount account_{MemoryUse::results, [this](std::int64_t bytes) { return give_up(bytes); }};
};

}  // namespace headlight
