// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/matrix_memory.h"

#include "headlight/base/memory_account.h"
#include "headlight/model/runtime.h"

#include <ATen/Functions.h>

#include <map>
#include <mutex>

namespace headlight::model {
namespace {

constexpr std::int64_t kLarge = 8 << 20, kWhole = 2 << 20;  // bytes: what is kept at all; sizes are multiples of the other
constexpr std::int64_t kMostWaiting = std::int64_t{1} << 30;

/// Blocks that wait for the next matrix, by size.
class Waiting {
public:
    at::Tensor take(std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto found = blocks_.find(bytes);
        if (found == blocks_.end()) return {};
        at::Tensor block = std::move(found->second);
        blocks_.erase(found);
        account_.add(-bytes);
        return block;
    }
    void put(at::Tensor block) {
        const std::lock_guard lock(mutex_);
        const auto bytes = static_cast<std::int64_t>(block.nbytes());
        if (!MapLargeTensors::any() || account_.bytes() + bytes > kMostWaiting) return;
        blocks_.emplace(bytes, std::move(block));
        account_.add(bytes);
    }
    void clear() {
        std::multimap<std::int64_t, at::Tensor> gone;
        const std::lock_guard lock(mutex_);
        gone.swap(blocks_);
        account_.set(0);
    }
    std::int64_t bytes() const { return account_.bytes(); }

private:
    std::mutex mutex_;
    std::multimap<std::int64_t, at::Tensor> blocks_;
    MemoryAccount account_{MemoryUse::weights};
};

Waiting& waiting() {
    static Waiting& one = *new Waiting;  // models that are static may end after it would
    return one;
}

}  // namespace

at::Tensor matrix_memory(at::IntArrayRef shape, at::ScalarType type) {
    std::int64_t bytes = static_cast<std::int64_t>(at::elementSize(type));
    for (const std::int64_t n : shape) bytes *= n;
    if (bytes < kLarge || !MapLargeTensors::any()) return at::empty(shape, at::TensorOptions(type));
    bytes = (bytes + kWhole - 1) / kWhole * kWhole;
    at::Tensor block = waiting().take(bytes);
    if (!block.defined()) block = at::empty({bytes}, at::TensorOptions(at::kByte));
    void* data = block.data_ptr();
    return at::from_blob(
        data, shape, [block](void*) mutable { waiting().put(std::move(block)); }, at::TensorOptions(type));
}

void release_matrix_memory() { waiting().clear(); }
std::int64_t matrix_memory_waiting() { return waiting().bytes(); }

}  // namespace headlight::model
