// SPDX-License-Identifier: GPL-3.0-or-later
// A value whose memory is in the account for as long as somebody holds it.
#pragma once

#include "headlight/base/memory_account.h"

#include <memory>
#include <utility>

namespace headlight {

/// `bytes`: what the value holds, in all its parts.
template <class T>
std::shared_ptr<const T> accounted(T value, MemoryUse use, std::int64_t bytes) {
    struct Held {
        T value;
        MemoryAccount account;
    };
    auto held = std::shared_ptr<Held>(new Held{std::move(value), MemoryAccount(use)});
    held->account.set(bytes);
    return {held, &held->value};
}

}  // namespace headlight
