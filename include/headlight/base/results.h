// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

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
/// and get the same result.
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
        const std::lock_guard lock(mutex_);
        if (auto other = at_hand()) return other;
        const auto of_kind = [](const auto& each) { return dynamic_cast<Mine*>(each.get()) != nullptr; };
        if (std::count_if(kept_.begin(), kept_.end(), of_kind) >= kept_of_a_kind)
            kept_.erase(std::find_if(kept_.begin(), kept_.end(), of_kind));
        kept_.push_back(std::move(made));
        return result;
    }

    /// Memory of everything kept.
    std::int64_t bytes() const {
        const std::lock_guard lock(mutex_);
        std::int64_t sum = 0;
        for (const auto& each : kept_) sum += each->bytes;
        return sum;
    }

private:
    struct Kept {
        virtual ~Kept() = default;
        std::int64_t bytes = 0;
    };
    template <class Key, class Result>
    struct KeptAs : Kept {
        KeptAs(Key k, std::shared_ptr<const Result> r) : key(std::move(k)), result(std::move(r)) {}
        Key key;
        std::shared_ptr<const Result> result;
    };

    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Kept>> kept_;  ///< used last at the end
};

}  // namespace headlight
