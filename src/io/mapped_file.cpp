// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/io/mapped_file.h"

#include "headlight/base/error.h"
#include "io/open_regular.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

namespace headlight::io {

namespace {

/// Begin and end of every mapping that is open: only file pages may be given back, memory of our own would be lost.
struct Open {
    std::mutex mutex;
    std::map<std::uintptr_t, std::uintptr_t> parts;
};
Open& open_mappings() {
    static auto* open = new Open;  // never destroyed: files may close after main()
    return *open;
}

/// The same for signal handlers, which may not wait for a lock: they read the bounds, and the file only where it holds the
/// address that is being read, which keeps it open. A file beyond these has no message of its own.
struct Listed {
    std::atomic<const MappedFile*> file = nullptr;
    std::atomic<std::uintptr_t> begin = 0, end = 0;  ///< end: 0 while the place is empty or changes

    bool holds(std::uintptr_t at) const noexcept {
        const std::uintptr_t before = end, first = begin;
        return before != 0 && end == before && at >= first && at < before;
    }
};
std::array<Listed, 4096> listed{};
std::atomic<int> blanks = 0;

std::uintptr_t page_size() noexcept {
    static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    return size;
}
std::uintptr_t address(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {
    Open& open = open_mappings();
    const std::lock_guard lock(open.mutex);
    open.parts[address(bytes_.data())] = address(bytes_.data()) + bytes_.size();
    const auto room = std::ranges::find(listed, nullptr, [](const auto& entry) { return entry.file.load(); });
    if (room == listed.end()) return;
    room->file = this;
    room->begin = address(bytes_.data());
    room->end = address(bytes_.data()) + (bytes_.size() + page_size() - 1) / page_size() * page_size();
}

void MappedFile::release(std::span<const std::byte> part) noexcept {
    Open& open = open_mappings();
    const std::lock_guard lock(open.mutex);
    const std::uintptr_t begin = address(part.data()), end = begin + part.size();
    const auto after = open.parts.upper_bound(begin);
    if (after == open.parts.begin() || std::prev(after)->second < end) return;
    const std::uintptr_t page = page_size();
    const std::uintptr_t first = (begin + page - 1) / page * page, last = end / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
    {
        Open& open = open_mappings();
        const std::lock_guard lock(open.mutex);
        open.parts.erase(address(bytes_.data()));
        const auto entry = std::ranges::find(listed, this, [](const auto& each) { return each.file.load(); });
        if (entry != listed.end()) {
            entry->end = 0;
            entry->begin = 0;
            entry->file = nullptr;
        }
    }
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

const MappedFile* MappedFile::holding(const void* at) noexcept {
    const auto entry = std::ranges::find_if(
        listed, [place = reinterpret_cast<std::uintptr_t>(at)](const Listed& each) { return each.holds(place); });
    return entry == listed.end() ? nullptr : entry->file.load();
}

bool MappedFile::blank_from(const void* at) const noexcept {
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(at) / page_size() * page_size();
    const std::uintptr_t end = address(bytes_.data()) + bytes_.size();
    damaged_ = ++blanks;
    return ::mmap(reinterpret_cast<void*>(first), end - first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

int MappedFile::blanked() noexcept { return blanks; }

int MappedFile::blanked(const std::filesystem::path& path) {
    Open& open = open_mappings();
    const std::lock_guard lock(open.mutex);
    int last = 0;
    for (const auto& entry : listed)
        if (const MappedFile* file = entry.file; file && file->path_ == path) last = std::max(last, file->damaged_.load());
    return last;
}

std::filesystem::path MappedFile::damaged() {
    Open& open = open_mappings();
    const std::lock_guard lock(open.mutex);  // none of them closes meanwhile
    const MappedFile* last = nullptr;
    for (const auto& entry : listed)
        if (const MappedFile* file = entry.file; file && file->damaged_ > (last ? last->damaged_.load() : 0)) last = file;
    return last ? last->path_ : std::filesystem::path();
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const OpenFile file = open_regular(path);
    if (file.size == 0) throw Error(ErrorFacts{.problem = "The file is empty", .file = path.string()});
    void* start = ::mmap(nullptr, file.size, PROT_READ, MAP_PRIVATE, file.fd.get(), 0);
    if (start == MAP_FAILED)
        throw Error(ErrorFacts{.problem = "Cannot map the file into memory",
                               .file = path.string(),
                               .found = std::generic_category().message(errno)});
    return std::shared_ptr<const MappedFile>(
        new MappedFile(path, {static_cast<const std::byte*>(start), static_cast<std::size_t>(file.size)}));
}

}  // namespace headlight::io
