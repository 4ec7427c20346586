// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/remake.h"

#include "headlight/base/memory.h"
#include "headlight/base/working_for.h"
#include "headlight/model/runtime.h"
#include "headlight/trace/remade.h"
#include "model/blocks/pass.h"
#include "model/run/again.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

static_assert(kLogitRows == model::kLogitRows);

/// Thrown at the patterns of a layer of which only what comes before is needed.
struct Enough {};

class Keeper final : public model::Observer {
public:
    Keeper(const std::set<HookPoint>& wanted, bool to_end) : wanted_(wanted), to_end_(to_end) {}
    bool wants(HookPoint point) const override { return wanted_.contains(point); }
    at::Tensor visit(HookPoint point, at::Tensor tensor) override {
        seen[point] = tensor.is_cpu() ? tensor : tensor.to(at::kCPU);
        return tensor;
    }
    void attention_input(Layer, const model::AttentionInput&) override {
        if (!to_end_) throw Enough{};
    }
    std::map<HookPoint, at::Tensor> seen;

private:
    const std::set<HookPoint>& wanted_;
    bool to_end_;
};

}  // namespace

Remaker::Remaker(std::shared_ptr<const model::Model> model, model::ForwardInput input, std::vector<at::Tensor> streams,
                 std::set<HookPoint> wanted)
    : model_(std::move(model)), input_(std::move(input)), streams_(std::move(streams)), wanted_(std::move(wanted)) {}

Remaker::Part Remaker::part_of(HookPoint point) const {
    if (!model::has_layer(point.hook)) return {model_->config().n_layers, true};
    return {point.layer.value, point.hook > Hook::attn_scores};
}

std::unique_lock<std::timed_mutex> Remaker::wait() const {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(50))) WorkingFor::token().throw_if_cancelled();
    return lock;
}

Remaker::Made Remaker::make(Part part) const {
    const CancelToken& cancel = WorkingFor::token();
    cancel.throw_if_cancelled();
    const model::KeepMemory keep;
    const auto layers = static_cast<std::int64_t>(streams_.size()) - 1;
    std::set<HookPoint> wanted;
    for (const HookPoint& point : wanted_)
        if (const Part own = part_of(point); own.layer == part.layer && (part.to_end || !own.to_end)) wanted.insert(point);
    Made made{.part = part, .tensors = {}, .state = {}};
    if (part.layer == layers) {
        wanted.erase({Hook::logits, Layer(0)});
        Keeper keeper(wanted, true);
        made.state = model::behind_layers(*model_, input_, streams_.back(), keeper);
        made.tensors = std::move(keeper.seen);
        made.bytes = static_cast<std::int64_t>(made.state.nbytes());
    } else {
        Keeper keeper(wanted, part.to_end);
        try {
            model::forward_layer(*model_, input_, Layer(part.layer), streams_[static_cast<std::size_t>(part.layer)], keeper,
                                 cancel);
        } catch (const Enough&) {
        }
        made.tensors = std::move(keeper.seen);
    }
    std::map<const void*, std::size_t> memory;
    for (const auto& [point, t] : made.tensors) memory[t.storage().data()] = t.storage().nbytes();
    for (const auto& [address, size] : memory) made.bytes += static_cast<std::int64_t>(size);
    return made;
}

const Remaker::Made& Remaker::made(Part part) const {
    const auto there =
        std::ranges::find_if(made_, [&](const Made& m) { return m.part.layer == part.layer && (m.part.to_end || !part.to_end); });
    if (there != made_.end()) {
        made_.splice(made_.begin(), made_, there);
        return made_.front();
    }
    const std::int64_t room = memory_budget() / 4;
    const auto drop_last = [&] {
        bytes_ -= made_.back().bytes;
        made_.pop_back();
    };
    // What may be dropped is dropped first, so that the new one can take its memory.
    while (!made_.empty() && bytes_ + made_.front().bytes > room) drop_last();
    Made made = make(part);
    std::erase_if(made_, [&](const Made& m) {
        if (m.part.layer != part.layer) return false;
        bytes_ -= m.bytes;
        return true;
    });
    bytes_ += made.bytes;
    made_.push_front(std::move(made));
    while (made_.size() > 1 && bytes_ > room) drop_last();
    return made_.front();
}

at::Tensor Remaker::tensor(HookPoint point) const {
    const at::NoGradGuard no_grad;
    if (point.hook == Hook::logits) return logit_rows(0, streams_.back().size(0));
    const auto lock = wait();
    return made(part_of(point)).tensors.at(point);
}

at::Tensor Remaker::logit_rows(std::int64_t first, std::int64_t count) const {
    const at::NoGradGuard no_grad;
    const auto lock = wait();
    const at::Tensor state = made(part_of({Hook::logits, Layer(0)})).state;
    std::vector<at::Tensor> rows;
    for (std::int64_t at = first; at < first + count;) {
        const std::int64_t begin = at / kLogitRows * kLogitRows, size = std::min(kLogitRows, state.size(0) - begin);
        if (begin != tile_row_) {
            WorkingFor::token().throw_if_cancelled();
            tile_ = at::Tensor();
            tile_row_ = -1;
            tile_ = model::logit_rows(*model_, state, begin, size).to(at::kCPU);
            tile_row_ = begin;
        }
        const std::int64_t end = std::min(first + count, begin + size);
        rows.push_back(tile_.narrow(0, at - begin, end - at));
        at = end;
    }
    return rows.size() == 1 ? rows.front() : at::cat(rows);
}

std::int64_t Remaker::bytes() const { return bytes_; }

}  // namespace headlight::trace
