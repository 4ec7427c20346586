// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/figure/pattern/pattern_views.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace headlight::figure {

/// The last few results of runs that live: what a figure is made of again when only its looks or its details change.
template <class Key, class Result>
class KeptResults {
public:
    template <class Make>
    std::shared_ptr<const Result> of(const TracePtr& trace, const Key& key, Make make) {
        {
            const std::lock_guard lock(mutex_);
            for (const Entry& each : entries_)
                if (each.trace.lock() == trace && each.key == key) return each.result;
        }
        auto made = std::make_shared<const Result>(make());
        const std::lock_guard lock(mutex_);
        std::erase_if(entries_, [](const Entry& each) { return each.trace.expired(); });
        if (entries_.size() >= 4) entries_.erase(entries_.begin());
        entries_.push_back({trace, key, made});
        return made;
    }

private:
    struct Entry {
        std::weak_ptr<const trace::Trace> trace;
        Key key;
        std::shared_ptr<const Result> result;
    };
    std::mutex mutex_;
    std::vector<Entry> entries_;
};

}  // namespace headlight::figure
