// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/run/map_run.h"

#include "headlight/base/error.h"
#include "map/run/head_points.h"
#include "map/run/parallel.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

namespace headlight::map {
namespace {

constexpr int kIterationsBetweenChanges = 50;

std::int64_t bytes_of(const HeadMap& map) {
    return (std::ssize(map.points) + std::ssize(map.norms) + std::ssize(map.trust)) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

MapRun::MapRun(std::shared_ptr<const MapVectors> vectors, const MapOptions& options, std::filesystem::path cache)
    : vectors_(std::move(vectors)),
      options_(options),
      cache_(std::move(cache)),
      maps_(vectors_->heads.size()),
      taken_(vectors_->heads.size()) {
    std::int64_t numbers = 0;
    std::set<const void*> counted;  // heads may share keys
    for (const HeadVectors& head : vectors_->heads)
        for (const auto& each : {head.queries, head.keys})
            if (each && counted.insert(each.get()).second) numbers += std::ssize(*each);
    account_.set(numbers * static_cast<std::int64_t>(sizeof(float)));
    for (std::size_t i = 0; i < maps_.size(); ++i) {
        maps_[i].layer = vectors_->heads[i].layer;
        maps_[i].head = vectors_->heads[i].head;
        maps_[i].dims = options.dims;
    }
}

void MapRun::set(std::size_t head, HeadMap map, const Changed& changed) {
    {
        const std::lock_guard lock(mutex_);
        account_.add(bytes_of(map) - bytes_of(maps_[head]));
        maps_[head] = std::move(map);
    }
    if (changed) changed(head);
}

bool MapRun::next(std::size_t& head) {
    std::unique_lock lock(mutex_);
    for (const std::size_t wanted : first_)
        if (wanted < taken_.size() && !taken_[wanted]) {
            taken_[head = wanted] = true;
            return true;
        }
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free == taken_.end()) return false;
    *free = true;
    head = static_cast<std::size_t>(free - taken_.begin());
    return true;
}

void MapRun::finish_head(std::size_t head, const CancelToken& cancel, const Changed& changed) {
    const auto wait = [&] {
        std::unique_lock lock(mutex_);
        while (paused_ && !cancel.cancelled()) resumed_.wait_for(lock, std::chrono::milliseconds(50));
        lock.unlock();
        cancel.throw_if_cancelled();
    };
    wait();
    const std::string key = cache_.empty() ? std::string() : cache_key(*vectors_, head, options_);
    if (!key.empty())
        if (std::optional<HeadMap> cached = read_cached(cache_, *vectors_, head, options_)) {
            set(head, std::move(*cached), changed);
            return;
        }
    HeadRun run(vectors_, head, options_, cancel);
    while (run.run(kIterationsBetweenChanges, cancel)) {
        set(head, run.picture(), changed);
        wait();
    }
    HeadMap map = run.measured(cancel);
    if (!key.empty()) try {
            write_cached(cache_, key, map);
        } catch (const Error&) {  // a disk that is full costs the next run its time, not this one its map
        }
    set(head, std::move(map), changed);
}

void MapRun::run(int threads, const CancelToken& cancel, const Progress& progress, const Changed& changed) {
    const auto total = static_cast<std::int64_t>(heads());
    MapOptions first = options_;
    first.projection = Projection::pca;
    if (progress) progress({"Laying out", "head", 0, total});
    in_parallel(threads, heads(), cancel, [&](std::size_t i) {
        if (const std::lock_guard lock(mutex_); taken_[i] || !maps_[i].points.empty()) return;  // by a run before
        HeadMap map = HeadRun(vectors_, i, first, cancel).picture();
        if (options_.projection != Projection::pca) map.explained.clear();
        set(i, std::move(map), changed);
    });
    std::mutex counting;
    std::int64_t done = 0;
    {
        const std::lock_guard lock(mutex_);
        done = std::count(taken_.begin(), taken_.end(), true);
    }
    in_parallel(
        threads, heads(), cancel, [&](std::size_t& i) { return next(i); },
        [&](std::size_t i) {
            try {
                finish_head(i, cancel, changed);
            } catch (...) {
                const std::lock_guard lock(mutex_);
                taken_[i] = false;
                throw;
            }
            const std::lock_guard lock(counting);
            if (progress) progress({"Laying out", "head", ++done, total});
        });
}

void MapRun::show_first(std::vector<std::size_t> heads) {
    const std::lock_guard lock(mutex_);
    first_ = std::move(heads);
}

void MapRun::pause(bool paused) {
    {
        const std::lock_guard lock(mutex_);
        paused_ = paused;
    }
    resumed_.notify_all();
}

bool MapRun::begun(std::size_t head) const {
    const std::lock_guard lock(mutex_);
    return taken_.at(head);
}

HeadMap MapRun::head(std::size_t i) const {
    const std::lock_guard lock(mutex_);
    return maps_.at(i);
}

QueryKeyMap MapRun::map() const {
    QueryKeyMap out = map_without_heads(*vectors_, options_);
    out.notes = vectors_->notes;
    out.pictures = vectors_->pictures;
    const std::lock_guard lock(mutex_);
    out.heads = maps_;
    return out;
}

}  // namespace headlight::map
