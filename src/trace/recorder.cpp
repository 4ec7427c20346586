// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/recorder.h"

#include "headlight/base/error.h"
#include "model/arithmetic/on_cpu.h"
#include "model/internals.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <sstream>

namespace headlight::trace {
namespace {

using model::Hook;
using model::HookPoint;

std::string sizes_text(const at::Tensor& t) {
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
                     .expected = sizes_text(was),
                     .hint = "Return the tensor it was given, or a replacement"});
    }
    if (now.sizes() == was.sizes() && now.scalar_type() == was.scalar_type() && now.device() == was.device()) return;
    throw Error({.problem = "A replacement does not fit its place in the pass",
                 .item = name_of(point),
                 .expected = sizes_text(was),
                 .found = sizes_text(now)});
}

/// Scores of replaced terms, and what follows from replaced scores or sinks, cannot be recomputed from q and k later.
template <class Points>
bool is_of_replaced(HookPoint point, const Points& replaced) {
    const auto is_replaced = [&](Hook hook) { return replaced.count({hook, point.layer}) > 0; };
    const bool terms = std::ranges::any_of(model::kScoreTerms, is_replaced);
    switch (point.hook) {
        case Hook::attn_scores: return terms;
        case Hook::sink: return terms || is_replaced(Hook::attn_scores);
        case Hook::pattern: return terms || is_replaced(Hook::attn_scores) || is_replaced(Hook::sink);
        case Hook::cross_pattern: return is_replaced(Hook::cross_scores);
        default: return false;
    }
}

/// Copies tensors that share memory with something much larger that is not kept.
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

}  // namespace

Hooked resolve_interventions(const model::ModelConfig& config, const std::vector<Intervention>& interventions,
                             bool may_be_elsewhere) {
    Hooked hooked;
    for (const Intervention& intervention : interventions) {
        const CapturePlan plan{.globs = {intervention.glob}};
        for (const HookPoint& point : plan.resolve(config, may_be_elsewhere)) hooked[point].push_back(&intervention.fn);
    }
    return hooked;
}

Recorder::Recorder(const model::Model& model, const text::Tokenizer& tokenizer, const text::Encoding& encoding,
                   std::set<HookPoint> stored, Hooked hooked, const HeadOverview& overview, const text::Encoding* source,
                   std::int64_t first_counted, PatternReader* reader)
    : model_(model), config_(model.config()), wanted_(std::move(stored)), hooked_(std::move(hooked)) {
    if (reader && reader->takes_patterns()) whole_ = std::make_unique<WholePatterns>(encoding.size(), encoding.size(), *reader);
    if (reader && reader->takes_rows()) rows_ = reader;
    own_ = Overview(overview, config_, tokenizer, encoding, nullptr, first_counted);
    if (source) cross_ = Overview(overview, config_, tokenizer, encoding, source);
}

bool Recorder::wants(HookPoint point) const {
    if (wanted_.count(point) > 0 || hooked_.count(point) > 0) return true;
    if ((point.hook == Hook::v && own_.reads_lengths()) || (point.hook == Hook::cross_v && cross_.reads_lengths())) return true;
    return is_of_replaced(point, hooked_);
}

at::Tensor Recorder::visit(HookPoint point, at::Tensor tensor) {
    const auto functions = hooked_.find(point);
    if (functions != hooked_.end())
        tensor = model::changed_on_cpu(tensor, [&](const at::Tensor& t) { return intervene(point, t, functions->second); });
    const bool keep = wanted_.count(point) > 0 || replaced_.count(point) > 0 || is_of_replaced(point, replaced_);
    if (keep) stored_[point] = tensor.to(at::kCPU);
    const auto factors = [&](const model::Model& model) { return model::length_factors(model.internals(), point.layer); };
    if (point.hook == Hook::v && own_.reads_lengths()) own_.weigh_values(point.layer, tensor, factors(model_));
    if (point.hook == Hook::cross_v && cross_.reads_lengths())
        cross_.weigh_values(point.layer, tensor, factors(*model_.part(model::Stack::cross)));
    return tensor;
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

at::Tensor Recorder::floats_of(const at::Tensor& tile) {
    if (tile.is_cpu()) {
        const at::Tensor rows = tile.to(at::kFloat);
        return rows.stride(2) == 1 ? rows : rows.contiguous();
    }
    const std::int64_t count = tile.numel();
    if (!pinned_.defined() || pinned_.numel() < count)
        pinned_ = at::empty({count}, at::TensorOptions(at::kFloat).pinned_memory(true));
    at::Tensor rows = pinned_.narrow(0, 0, count).view(tile.sizes());
    return rows.copy_(tile);
}

void Recorder::pattern_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& tile,
                            std::span<const model::RowLogs> logs) {
    const at::Tensor rows = floats_of(tile);
    // A head a thread, and all that is read of its rows while they are in the cache. Lengths are there until the overview has the
    // head's last rows.
    at::parallel_for(0, rows.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t h = begin; h < end; ++h) {
            const HeadId id{layer, Head(head0 + h)};
            const HeadRows of{.weights = rows.data_ptr<float>() + h * rows.stride(0),
                              .first = row0,
                              .count = rows.size(1),
                              .keys = rows.size(2),
                              .stride = rows.stride(1),
                              .lengths = own_.lengths(id)};
            if (rows_) rows_->rows(id, of);
            if (whole_) whole_->add_rows(id, of.weights, of.first, of.count, of.keys, of.stride, of.lengths);
            if (own_.gathers()) own_.add_rows(id, of, logs);
        }
    });
}

void Recorder::cross_pattern_tile(Layer layer, std::int64_t head0, std::int64_t row0, const at::Tensor& tile) {
    if (cross_.gathers()) cross_.add_tile(layer, head0, row0, floats_of(tile));
}

void Recorder::finish_cross(Trace::Internals& out) { cross_.finish(out.pooled, out.head_numbers); }

void Recorder::finish(Trace::Internals& out, bool alone) {
    if (alone) drop_unused_memory(stored_);
    out.stored = std::move(stored_);
    own_.finish(out.pooled, out.head_numbers);
    std::set<HookPoint> kept(out.kept.begin(), out.kept.end());
    kept.insert(replaced_.begin(), replaced_.end());
    out.kept.clear();
    for (const HookPoint& point : model::hooks_of(config_)) {
        if (kept.count(point) > 0) out.kept.push_back(point);
    }
    out.bytes = total_bytes(out);
}

}  // namespace headlight::trace
