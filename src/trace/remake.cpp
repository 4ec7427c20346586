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
#include <cstdlib>
#include <iterator>
#include <thread>
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
        seen[point] = tensor.to(at::kCPU);
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

/// Norms stand in front of the patterns in some models, and behind them in others.
std::set<HookPoint> those_behind_patterns(const model::ModelConfig& c, const std::set<HookPoint>& wanted) {
    std::set<HookPoint> out;
    bool behind = false;
    for (const HookPoint& point : model::hooks_of(c)) {
        if (point.hook == Hook::resid_pre) behind = false;
        if (point.hook == Hook::attn_scores) behind = true;
        if (behind && model::has_layer(point.hook) && wanted.contains(point)) out.insert(point);
    }
    return out;
}

}  // namespace

Remaker::Remaker(std::shared_ptr<const model::Model> model, model::ForwardInput input, std::vector<at::Tensor> streams,
                 std::set<HookPoint> wanted)
    : model_(std::move(model)),
      input_(std::move(input)),
      streams_(std::move(streams)),
      wanted_(std::move(wanted)),
      behind_patterns_(those_behind_patterns(model_->config(), wanted_)) {}

bool Remaker::makes_layers() const {
    return std::ranges::any_of(wanted_, [](HookPoint point) { return model::has_layer(point.hook); });
}

Remaker::Part Remaker::part_of(HookPoint point) const {
    if (!model::has_layer(point.hook)) return {model_->config().n_layers, true};
    return {point.layer.value, behind_patterns_.contains(point)};
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

std::unique_lock<std::timed_mutex> Remaker::lock_for(Part part) const {
    struct Waiting {
        std::atomic<int>& readers;
        explicit Waiting(std::atomic<int>& of) : readers(of) { ++readers; }
        ~Waiting() { --readers; }
    } const waiting(readers_waiting_);
    return lock_while_wanted(mutex_, [&] {
        const std::lock_guard own(ahead_mutex_);
        if (ahead_ && !ahead_->first.covers(part)) ahead_->second.cancel();
    });
}

std::unique_lock<std::timed_mutex> Remaker::lock_behind_readers() const {
    for (;;) {
        auto lock = lock_while_wanted(mutex_);
        if (readers_waiting_ == 0) return lock;
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        WorkingFor::token().throw_if_cancelled();
    }
}

std::int64_t Remaker::room() const {
    const std::int64_t others = memory_in_use(MemoryUse::layers) - account_.bytes();
    return std::max<std::int64_t>(0, memory_budget() / 4 - others);
}

/// The tile of logits, then all layers but the latest, the oldest first.
std::int64_t Remaker::give_up(std::int64_t bytes) const {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return 0;
    const std::int64_t before = account_.bytes();
    drop_tile();
    while (made_.size() > 1 && before - account_.bytes() < bytes) drop_last();
    return before - account_.bytes();
}

void Remaker::drop_tile() const {
    if (tile_.defined()) account_.add(-static_cast<std::int64_t>(tile_.nbytes()));
    tile_ = at::Tensor();
    tile_row_ = -1;
}

void Remaker::drop_last() const {
    account_.add(-made_.back().bytes);
    made_.pop_back();
}

void Remaker::keep(Made made, bool at_front) const {
    std::erase_if(made_, [&](const Made& m) {
        if (!made.part.covers(m.part)) return false;
        account_.add(-m.bytes);
        return true;
    });
    account_.add(made.bytes);
    made_.insert(at_front || made_.empty() ? made_.begin() : std::next(made_.begin()), std::move(made));
}

const Remaker::Made& Remaker::made(Part part) const {
    const auto there = std::ranges::find_if(made_, [&](const Made& m) { return m.part.covers(part); });
    if (there != made_.end()) {
        made_.splice(made_.begin(), made_, there);
        made_.front().ahead = false;
        return made_.front();
    }
    // What may be dropped is dropped first, so that the new one can take its memory.
    while (!made_.empty() && account_.bytes() + made_.front().bytes > room()) drop_last();
    keep(make(part), true);
    while (made_.size() > 1 && account_.bytes() > room()) drop_last();
    return made_.front();
}

void Remaker::make_ahead(std::int64_t layer) const {
    const auto lock = lock_behind_readers();
    const auto layers = static_cast<std::int64_t>(streams_.size()) - 1;
    const auto read_last = std::ranges::find_if(made_, [&](const Made& m) { return m.part.layer < layers && !m.ahead; });
    if (read_last == made_.end() || layer < 0 || layer >= layers) return;
    const Made& latest = *read_last;
    const Part part{layer, latest.part.to_end};
    if (std::ranges::any_of(made_, [&](const Made& m) { return m.part.covers(part); })) return;
    const auto stays = [&](const Made& m) {
        return &m == &made_.front() || &m == &latest || (m.ahead && std::abs(m.part.layer - latest.part.layer) == 1);
    };
    while (account_.bytes() + latest.bytes > room()) {
        const auto last = std::ranges::find_if_not(made_.rbegin(), made_.rend(), stays);
        if (last == made_.rend()) return;
        account_.add(-last->bytes);
        made_.erase(std::prev(last.base()));
    }
    const at::NoGradGuard no_grad;
    const auto set_ahead = [this](auto ahead) {
        const std::lock_guard own(ahead_mutex_);
        ahead_ = std::move(ahead);
    };
    struct Reset {
        const decltype(set_ahead)& set;
        ~Reset() { set(std::nullopt); }
    } const reset{set_ahead};
    set_ahead(std::optional(std::pair(part, WorkingFor::token())));
    Made made = make(part);
    made.ahead = true;
    keep(std::move(made), false);
}

at::Tensor Remaker::tensor(HookPoint point) const {
    const at::NoGradGuard no_grad;
    if (point.hook == Hook::logits) return logit_rows(0, streams_.back().size(0));
    at::Tensor found;
    {
        const auto lock = lock_for(part_of(point));
        found = made(part_of(point)).tensors.at(point);
    }
    keep_to_budget();
    return found;
}

at::Tensor Remaker::logit_rows(std::int64_t first, std::int64_t count) const {
    const at::NoGradGuard no_grad;
    const auto lock = lock_for(part_of({Hook::logits, Layer(0)}));
    const at::Tensor state = made(part_of({Hook::logits, Layer(0)})).state;
    if (count == 0) return at::empty({0, logit_count(model_->config())}, state.options().device(at::kCPU));
    std::vector<at::Tensor> rows;
    for (std::int64_t at = first; at < first + count;) {
        const std::int64_t begin = at / kLogitRows * kLogitRows, size = std::min(kLogitRows, state.size(0) - begin);
        if (begin != tile_row_) {
            WorkingFor::token().throw_if_cancelled();
            drop_tile();
            tile_ = model::logit_rows(*model_, state, begin, size).to(at::kCPU);
            tile_row_ = begin;
            account_.add(static_cast<std::int64_t>(tile_.nbytes()));
        }
        const std::int64_t end = std::min(first + count, begin + size);
        rows.push_back(tile_.narrow(0, at - begin, end - at));
        at = end;
    }
    return rows.size() == 1 ? rows.front() : at::cat(rows);
}

std::int64_t Remaker::bytes() const { return account_.bytes(); }

}  // namespace headlight::trace
