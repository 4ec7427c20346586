// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of a run that were not kept, made again from the streams that were.
#pragma once

#include "headlight/base/job.h"
#include "headlight/base/memory_account.h"
#include "headlight/model/model.h"
#include "model/run/forward.h"

#include <ATen/ATen.h>

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace headlight::trace {

/// Makes a layer's tensors by the pass's own code, so that they equal those of the run bit for bit: a layer up to its patterns,
/// or all of it, whichever is asked for. The latest ones are kept in a quarter of memory_budget(), which all runs share, as far
/// as keep_to_budget() leaves them that, and at least the last. Cancelled by WorkingFor's token, within a layer. Thread-safe; one
/// thread makes at a time.
class Remaker {
public:
    /// `streams`: resid_pre of every layer, and resid_post of the last. `wanted`: what can be asked for.
    Remaker(std::shared_ptr<const model::Model>, model::ForwardInput, std::vector<at::Tensor> streams,
            std::set<model::HookPoint> wanted);
    Remaker(const Remaker&) = delete;
    Remaker& operator=(const Remaker&) = delete;
    bool makes(model::HookPoint point) const { return wanted_.contains(point); }
    bool makes_layers() const;
    /// On the CPU. `point` is one that it makes; of the logits rows are cheaper.
    at::Tensor tensor(model::HookPoint) const;
    at::Tensor logit_rows(std::int64_t first, std::int64_t count) const;
    /// Makes a layer that is likely to be read next, as far as the latest one was made, if there is room to keep it beside the
    /// latest and its neighbours that were made so. Waits until nobody makes or waits for a layer; whoever needs another one
    /// while it makes one cancels WorkingFor's token.
    void make_ahead(std::int64_t layer) const;
    std::int64_t bytes() const;  ///< of what it keeps now, the streams apart

private:
    /// A layer up to its patterns, the rest of it, or (behind the last layer) what the unembedding reads.
    struct Part {
        std::int64_t layer = 0;
        bool to_end = false;
        /// It has all that is asked of the other.
        bool covers(const Part& other) const { return layer == other.layer && (to_end || !other.to_end); }
    };
    using Tensors = std::map<model::HookPoint, at::Tensor>;
    struct Made {
        Part part;
        Tensors tensors;
        at::Tensor state;  ///< behind the last layer: what the unembedding reads
        std::int64_t bytes = 0;
        bool ahead = false;  ///< nobody has read it yet
    };
    Part part_of(model::HookPoint) const;
    std::unique_lock<std::timed_mutex> lock_for(Part) const;
    std::unique_lock<std::timed_mutex> lock_behind_readers() const;
    const Made& made(Part) const;  ///< with the mutex held
    std::int64_t room() const;
    void drop_last() const;
    void drop_tile() const;
    /// Puts it in the place of what it covers, at the front or behind it.
    void keep(Made, bool at_front) const;
    Made make(Part) const;
    std::int64_t give_up(std::int64_t bytes) const;

    std::shared_ptr<const model::Model> model_;
    model::ForwardInput input_;
    std::vector<at::Tensor> streams_;
    std::set<model::HookPoint> wanted_;
    std::set<model::HookPoint> behind_patterns_;  ///< of these, in the order of the pass
    mutable std::timed_mutex mutex_;
    mutable std::atomic<int> readers_waiting_ = 0;
    mutable std::mutex ahead_mutex_;
    mutable std::optional<std::pair<Part, CancelToken>> ahead_;  ///< what make_ahead() makes now
    mutable std::list<Made> made_;                               ///< the latest first
    mutable std::int64_t tile_row_ = -1;                         ///< of the latest tile of logits
    mutable at::Tensor tile_;                                    ///< [up to kLogitRows, vocab]
    mutable MemoryAccount account_{MemoryUse::layers, [this](std::int64_t bytes) { return give_up(bytes); }};
};

}  // namespace headlight::trace
