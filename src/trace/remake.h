// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of a run that were not kept, made again from the streams that were.
#pragma once

#include "headlight/base/job.h"
#include "headlight/model/model.h"
#include "model/run/forward.h"

#include <ATen/ATen.h>

#include <atomic>
#include <compare>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace headlight::trace {

/// Makes a layer's tensors by the pass's own code, so that they equal those of the run bit for bit: a layer up to its patterns,
/// or all of it, whichever is asked for. The latest ones are kept in a quarter of memory_budget(), at least the last. Cancelled
/// by WorkingFor's token, within a layer. Thread-safe; one thread makes at a time.
class Remaker {
public:
    /// `streams`: resid_pre of every layer, and resid_post of the last. `wanted`: what can be asked for.
    Remaker(std::shared_ptr<const model::Model>, model::ForwardInput, std::vector<at::Tensor> streams,
            std::set<model::HookPoint> wanted);
    bool makes(model::HookPoint point) const { return wanted_.contains(point); }
    bool makes_anything() const { return !wanted_.empty(); }
    /// On the CPU. `point` is one that it makes; of the logits rows are cheaper.
    at::Tensor tensor(model::HookPoint) const;
    at::Tensor logit_rows(std::int64_t first, std::int64_t count) const;
    std::int64_t bytes() const;  ///< of what it keeps now, the streams apart

private:
    /// A layer up to its patterns, the rest of it, or (behind the last layer) what the unembedding reads.
    struct Part {
        std::int64_t layer = 0;
        bool to_end = false;
        auto operator<=>(const Part&) const = default;
    };
    using Tensors = std::map<model::HookPoint, at::Tensor>;
    struct Made {
        Part part;
        Tensors tensors;
        at::Tensor state;  ///< behind the last layer: what the unembedding reads
        std::int64_t bytes = 0;
    };
    Part part_of(model::HookPoint) const;
    const Made& made(Part) const;  ///< with the mutex held
    Made make(Part) const;
    std::unique_lock<std::timed_mutex> wait() const;

    std::shared_ptr<const model::Model> model_;
    model::ForwardInput input_;
    std::vector<at::Tensor> streams_;
    std::set<model::HookPoint> wanted_;
    mutable std::timed_mutex mutex_;
    mutable std::list<Made> made_;        ///< the latest first
    mutable std::int64_t tile_row_ = -1;  ///< of the latest tile of logits
    mutable at::Tensor tile_;             ///< [up to kLogitRows, vocab]
    mutable std::atomic<std::int64_t> bytes_ = 0;
};

}  // namespace headlight::trace
