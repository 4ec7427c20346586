// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/recorder.h"

#include "headlight/base/error.h"
#include "model/internals.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <sstream>

#include <omp.h>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

std::string shape_text(const at::Tensor& t) {
    std::ostringstream text;
    text << t.scalar_type() << " [";
    for (std::int64_t d = 0; d < t.dim(); ++d) text << (d == 0 ? "" : ", ") << t.size(d);
    text << "]";
    return text.str();
}

void check_replacement(HookPoint point, const at::Tensor& was, const at::Tensor& now) {
    if (!now.defined()) {
        throw Error({.problem = "A hook function returned nothing",
                     .item = name_of(point),
                     .expected = shape_text(was),
                     .hint = "Return the tensor it was given, or a replacement"});
    }
    if (now.sizes() == was.sizes() && now.scalar_type() == was.scalar_type() && now.device() == was.device()) return;
    throw Error({.problem = "A replacement does not fit its place in the pass",
                 .item = name_of(point),
                 .expected = shape_text(was),
                 .found = shape_text(now)});
}

/// Tensors that share memory with something much larger that nobody asked for get their own.
void drop_unused_memory(std::map<HookPoint, at::Tensor>& stored) {
    std::map<const void*, std::size_t> used;
    for (const auto& [point, t] : stored) used[t.storage().data()] += t.nbytes();
    for (auto& [point, t] : stored) {
        if (2 * t.storage().nbytes() > 3 * used[t.storage().data()]) t = t.clone(at::MemoryFormat::Contiguous);
    }
}

std::int64_t total_bytes(const Trace::Internals& in) {
    std::map<const void*, std::size_t> storages;
    for (const auto& [point, t] : in.stored) storages[t.storage().data()] = t.storage().nbytes();
    std::size_t bytes = 0;
    for (const auto& [address, size] : storages) bytes += size;
    for (const PooledPattern& p : in.pooled) bytes += (p.max.size() + p.mean.size()) * sizeof(float);
    return static_cast<std::int64_t>(bytes);
}

/// Scores of replaced terms and patterns of replaced scores cannot be had from q and k later.
template <class Points>
bool follows(HookPoint point, const Points& changed) {
    const auto is_changed = [&](Hook hook) { return changed.count({hook, point.layer}) > 0; };
    if (point.hook != Hook::pattern && point.hook != Hook::attn_scores) return false;
    return is_changed(Hook::c2p) || is_changed(Hook::p2c) || (point.hook == Hook::pattern && is_changed(Hook::attn_scores));
}

}  // namespace

Hooked resolve_interventions(const model::ModelConfig& config, const std::vector<Intervention>& interventions) {
    Hooked hooked;
    for (const Intervention& intervention : interventions) {
        CapturePlan plan;
        plan.globs = {intervention.glob};
        for (const HookPoint& point : plan.resolve(config)) hooked[point].push_back(&intervention.fn);
    }
    return hooked;
}

Recorder::Recorder(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                   std::set<HookPoint> stored, Hooked hooked, bool overview)
    : model_(model), config_(model.config()), wanted_(std::move(stored)), hooked_(std::move(hooked)) {
    if (!overview) return;
    const text::Punctuation punctuation = text::punctuation(tokenizer, encoding);
    for (std::int64_t layer = 0; layer < config_.n_layers; ++layer) {
        const std::int64_t window = model::window_of(config_, layer);
        if (facts_.contains(window)) continue;
        facts_.emplace(window, TextFacts::of(encoding.ids, encoding.special, config_.causal, punctuation, window));
    }
    const auto heads = static_cast<std::size_t>(config_.n_layers * config_.n_heads);
    pooled_.resize(heads);
    summaries_.resize(heads);
    for (std::size_t h = 0; h < heads; ++h) {
        const auto layer = static_cast<std::int64_t>(h) / config_.n_heads;
        const TextFacts& facts = facts_.at(model::window_of(config_, layer));
        heads_.push_back(std::make_unique<HeadAccumulator>(facts, pooled_[h], summaries_[h]));
    }
}

bool Recorder::wants(HookPoint point) const {
    if (wanted_.count(point) > 0 || hooked_.count(point) > 0) return true;
    if (point.hook == Hook::v && !heads_.empty()) return true;
    return follows(point, hooked_);
}

at::Tensor Recorder::visit(HookPoint point, at::Tensor tensor) {
    const auto functions = hooked_.find(point);
    if (functions != hooked_.end()) tensor = intervene(point, tensor, functions->second);
    const bool keep = wanted_.count(point) > 0 || replaced_.count(point) > 0 ||
                      follows(point, replaced_);
    if (keep) stored_[point] = tensor.is_cpu() ? tensor : tensor.to(at::kCPU);
    if (point.hook == Hook::v && !heads_.empty()) weigh_values(point.layer, tensor);
    return tensor;
}

/// |v_j W_O^h| of every head, by v (W_O W_O^T) v^T so that nothing of [head, token, d_model] is made. In float64: where
/// v lies along a direction that W_O shrinks, the products nearly cancel.
void Recorder::weigh_values(Layer layer, const at::Tensor& v) {
    const at::Tensor& w_o = model_.internals().layers[static_cast<std::size_t>(layer.value)].o.weight;
    const std::int64_t group = config_.n_heads / config_.n_kv_heads, d = config_.d_head;
    const at::Tensor values = v.transpose(0, 1).to(at::kDouble);  // [kv_head, token, d_head]
    const auto weigh = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h) {
            const at::Tensor w = w_o.narrow(0, h * d, d).to(at::kDouble), x = values.select(0, h / group);
            const at::Tensor squared = at::mul(at::mm(x, at::mm(w, w.t())), x).sum(1);
            const at::Tensor norms = squared.clamp_min(0).sqrt().to(at::kFloat).cpu().contiguous();
            const float* data = norms.data_ptr<float>();
            heads_[static_cast<std::size_t>(layer.value * config_.n_heads + h)]->set_value_norms(
                std::vector<float>(data, data + norms.numel()));
        }
    };
    // A head a thread: splitting such small products would cost more than they do.
    v.is_cpu() ? at::parallel_for(0, config_.n_heads, 1, weigh) : weigh(0, config_.n_heads);
}

at::Tensor Recorder::intervene(HookPoint point, const at::Tensor& tensor, const std::vector<const HookFn*>& functions) {
    at::Tensor current = tensor;
    for (const HookFn* function : functions) {
        const auto version = current.is_inference() ? 0 : current._version();
        at::Tensor next = (*function)(point, current);
        if (!current.is_inference() && current._version() != version) {
            throw Error({.problem = "A hook function changed its tensor in place",
                         .item = name_of(point),
                         .hint = "Return a changed copy: the tensor may share memory with others of the pass"});
        }
        check_replacement(point, current, next);
        if (next.is_same(current)) continue;
        current = next.clone(at::MemoryFormat::Contiguous);  // the caller may go on using theirs
        replaced_.insert(point);
    }
    return current;
}

void Recorder::pattern_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& tile) {
    at::Tensor rows = tile;
    if (!rows.is_cpu() || rows.scalar_type() != at::kFloat) rows = rows.to(at::kCPU, at::kFloat);
    if (rows.stride(2) != 1) rows = rows.contiguous();
    const std::int64_t heads = rows.size(0), first = layer.value * config_.n_heads + head0;
    const float* data = rows.data_ptr<float>();
#pragma omp parallel for schedule(static) if (heads > 1 && !omp_in_parallel())
    for (std::int64_t h = 0; h < heads; ++h) {
        heads_[static_cast<std::size_t>(first + h)]->add_rows(data + h * rows.stride(0), row0, rows.size(1),
                                                              rows.size(2), rows.stride(1));
    }
}

void Recorder::finish(Trace::Internals& out) {
    heads_.clear();
    drop_unused_memory(stored_);
    out.stored = std::move(stored_);
    out.pooled = std::move(pooled_);
    out.summaries = std::move(summaries_);
    std::set<HookPoint> kept(out.kept.begin(), out.kept.end());
    kept.insert(replaced_.begin(), replaced_.end());
    out.kept.clear();
    for (const HookPoint& point : model::hooks_of(config_)) {
        if (kept.count(point) > 0) out.kept.push_back(point);
    }
    out.bytes = total_bytes(out);
}

}  // namespace headlight::trace
