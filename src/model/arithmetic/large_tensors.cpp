// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/arithmetic/large_tensors.h"

#include "headlight/base/memory.h"
#include "headlight/base/memory_account.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <utility>

namespace headlight::model {
namespace {

constexpr std::size_t kLargeTensor = 8 << 20, kLargePage = 2 << 20;  // bytes; sizes are multiples of the system's large pages

struct Pages {
    void* first = nullptr;
    std::size_t bytes = 0;
};
using PageList = std::list<Pages>;

void unmap(const PageList& gone) {
    for (const Pages& pages : gone) ::munmap(pages.first, pages.bytes);
}

class LargeTensors {
public:
    /// nullptr: there is no memory.
    void* take(std::size_t bytes) {
        bytes = (bytes + kLargePage - 1) / kLargePage * kLargePage;
        {
            const std::lock_guard lock(mutex_);
            const auto fits = [&](const Pages& p) { return p.bytes >= bytes && p.bytes <= bytes + bytes / 8; };
            if (const auto found = std::ranges::find_if(waiting_, fits); found != waiting_.end()) {
                account_.add(-static_cast<std::int64_t>(found->bytes));
                used_.splice(used_.begin(), waiting_, found);
                return used_.front().first;
            }
        }
        PageList mapped(1);
        mapped.front() = {map(bytes), bytes};
        if (mapped.front().first == MAP_FAILED) {
            give_up(bytes_waiting());
            mapped.front().first = map(bytes);
        }
        if (mapped.front().first == MAP_FAILED) return nullptr;
        ::madvise(mapped.front().first, bytes, MADV_HUGEPAGE);
        const std::lock_guard lock(mutex_);
        used_.splice(used_.begin(), mapped);
        return used_.front().first;
    }

    /// False: not one of these. Takes no memory, which may be why it is called.
    bool put(void* first) {
        PageList gone;
        {
            const std::lock_guard lock(mutex_);
            const auto found = std::ranges::find(used_, first, &Pages::first);
            if (found == used_.end()) return false;
            account_.add(static_cast<std::int64_t>(found->bytes));
            waiting_.splice(waiting_.begin(), used_, found);
            gone = oldest(account_.bytes() - most_waiting());
        }
        unmap(gone);
        return true;
    }

    /// The oldest first.
    std::int64_t give_up(std::int64_t bytes) {
        PageList gone;
        {
            const std::lock_guard lock(mutex_);
            gone = oldest(bytes);
        }
        unmap(gone);
        std::int64_t given = 0;
        for (const Pages& pages : gone) given += static_cast<std::int64_t>(pages.bytes);
        return given;
    }
    std::int64_t bytes_waiting() const { return account_.bytes(); }

private:
    static void* map(std::size_t bytes) {
        return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    static std::int64_t most_waiting() { return std::clamp(memory_budget() / 8, std::int64_t{256} << 20, std::int64_t{1} << 30); }
    PageList oldest(std::int64_t bytes) {
        PageList gone;
        while (bytes > 0 && !waiting_.empty()) {
            const auto size = static_cast<std::int64_t>(waiting_.back().bytes);
            bytes -= size;
            account_.add(-size);
            gone.splice(gone.end(), waiting_, std::prev(waiting_.end()));
        }
        return gone;
    }

    std::mutex mutex_;
    PageList used_, waiting_;  ///< the newest first, which a cache may still hold
    MemoryAccount account_{MemoryUse::spare, [this](std::int64_t bytes) { return give_up(bytes); }};
};

LargeTensors& large_tensors() {
    static LargeTensors& one = *new LargeTensors;  // tensors that are static may end after it would
    return one;
}

c10::Allocator& small_tensors() {
    static c10::Allocator& one = *c10::GetDefaultCPUAllocator();
    return one;
}

/// Large or small: raw memory does not tell which.
void free_tensor(void* data) {
    if (!large_tensors().put(data)) small_tensors().raw_deleter()(data);
}

/// LibTorch 1.13 declares allocate() const and no copy_data(), later ones do otherwise: nothing can say "override".
class TensorAllocator final : public c10::Allocator {
public:
    c10::DataPtr allocate(std::size_t bytes) const {
        void* const pages = bytes < kLargeTensor ? nullptr : large_tensors().take(bytes);
        if (!pages) return small_tensors().allocate(bytes);  // and its error
        return {pages, pages, &free_tensor, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DataPtr allocate(std::size_t bytes) { return std::as_const(*this).allocate(bytes); }
    c10::DeleterFnPtr raw_deleter() const { return &free_tensor; }
    void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
};

}  // namespace

void map_large_tensors() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    static TensorAllocator& one = *new TensorAllocator;
    small_tensors();
    c10::SetCPUAllocator(&one);
#endif
}

void release_large_tensors() { large_tensors().give_up(large_tensors().bytes_waiting()); }
std::int64_t large_tensors_waiting() { return large_tensors().bytes_waiting(); }

}  // namespace headlight::model
