// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/error.h"
#include "headlight/base/nearest.h"
#include "headlight/corpus/store/segments.h"
#include "headlight/trace/tensors.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <mutex>
#include <set>

namespace headlight::corpus {

Gathered::Gathered(const std::vector<std::string>& measures, const AccumulatorContext& context) {
    for (const std::string& id : measures) {
        const auto& kinds = accumulator_kinds();
        const auto kind = std::ranges::find_if(kinds, [&](const AccumulatorKind& each) { return each.id == id; });
        if (kind == kinds.end()) {
            std::vector<std::string> ids;
            for (const AccumulatorKind& each : kinds) ids.emplace_back(each.id);
            const std::string near = nearest(id, ids);
            throw Error(
                {.problem = "There is nothing of that name to gather",
                 .item = id,
                 .hint = near.empty() ? "headlight corpus run --help lists what there is" : "Did you mean " + near + "?"});
        }
        all_.push_back(kind->make(context));
    }
}

Gathered Gathered::fresh() const {
    Gathered out;
    for (const auto& each : all_) out.all_.push_back(each->fresh());
    return out;
}

void Gathered::merge(const Gathered& other) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->merge(*other.all_[i]);
}

void Gathered::save(Arrays& arrays) const {
    for (const auto& each : all_) each->save(arrays);
}

void Gathered::load(const Arrays& arrays) {
    for (const auto& each : all_) each->load(arrays);
}

trace::CapturePlan Gathered::plan() const {
    std::set<std::string> globs;
    for (const auto& each : all_) {
        const auto hooks = each->hooks();
        globs.insert(hooks.begin(), hooks.end());
        if (each->wants_patterns()) globs.insert("*.attn.hook_pattern");
    }
    if (globs.empty()) globs.insert("blocks.0.hook_resid_pre");  // an empty list stands for the default hooks
    return {.globs = {globs.begin(), globs.end()}, .overview = true};
}

void Gathered::add(const TextRun& run, const CancelToken& cancel) {
    const at::NoGradGuard no_grad;
    std::vector<Accumulator*> of_patterns;
    for (const auto& each : all_) {
        each->begin(run);
        if (each->wants_patterns()) of_patterns.push_back(each.get());
    }
    const model::ModelConfig& config = run.trace.config();
    for (std::int64_t layer = 0; layer < config.n_layers && !of_patterns.empty(); ++layer) {
        cancel.throw_if_cancelled();
        at::parallel_for(0, config.n_heads, 1, [&](std::int64_t begin, std::int64_t end) {
            const at::NoGradGuard inner;
            for (std::int64_t head = begin; head < end; ++head) {
                const at::Tensor pattern =
                    trace::pattern_rows(run.trace, Layer(layer), Head(head), 0, run.trace.tokens()).to(at::kFloat).contiguous();
                const std::span<const float> weights(pattern.data_ptr<float>(), static_cast<std::size_t>(pattern.numel()));
                for (Accumulator* each : of_patterns)
                    each->add_pattern(run, {Layer(layer), Head(head)}, weights, pattern.size(1));
            }
        });
    }
    for (const auto& each : all_) each->add(run);
}

}  // namespace headlight::corpus
