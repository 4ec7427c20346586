// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/attribution.h"

#include <algorithm>
#include <cmath>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

bool goes_through_pattern(Site site) { return site == Site::q || site == Site::k; }

}  // namespace

Attribution::Attribution(const Sweep& sweep, const PairWork& work, std::size_t pair, const CancelToken& cancel)
    : sweep_(sweep), plan_(work.plan) {
    const trace::TokenIds tokens = token_ids(base_of(sweep.pairs[pair], sweep.options()));
    const std::vector<Site> of_grid = sites_of(sweep.options().grid);
    const bool of_scores = std::ranges::any_of(of_grid, goes_through_pattern);
    std::vector<HookPoint> points = sweep.points, stream;
    for (const HookPoint point : model::hooks_of(sweep.config())) {
        if (point.hook == Hook::resid_pre) stream.push_back(point);
        if (of_scores && point.hook == hook_of(Site::pattern, plan_.options) && std::ranges::find(points, point) == points.end())
            points.push_back(point);
    }
    const MetricReader& metric = work.base_metric;
    std::vector<std::vector<HookPoint>> without(1);
    if (sweep.options().method == Method::graddrop) {
        without.assign(static_cast<std::size_t>(sweep.config().n_layers), {});
        for (const HookPoint point : model::hooks_of(sweep.config()))
            if (point.hook == Hook::attn_out || point.hook == Hook::cross_attn_out || point.hook == Hook::mlp_out)
                without[static_cast<std::size_t>(point.layer.value)].push_back(point);
    }
    at_ = trace::gradients_without(
        *sweep.model, tokens, points,
        [&](const at::Tensor& logits) {
            const at::Tensor rows = logits.narrow(0, metric.first(), metric.last() - metric.first());
            if (metric.columns().empty()) return metric.tensor_of(rows);
            return metric.tensor_of(rows.index_select(1, at::tensor(metric.columns(), at::kLong).to(rows.device())));
        },
        without, cancel);
    if (!of_scores) return;
    const Tensors streams = trace::tensors_of(*sweep.model, tokens, stream, cancel);
    scores_ = scores_under(tokens, Site::z, nullptr, streams, cancel);
    for (const Site site : of_grid) {
        if (!goes_through_pattern(site)) continue;
        for (std::size_t i = 0; i < std::max<std::size_t>(plan_.sources.size(), 1); ++i)
            edited_[site].push_back(
                scores_under(tokens, site, plan_.sources.empty() ? nullptr : &plan_.sources[i], streams, cancel));
    }
}

/// Every layer starts at its own stream, so that each sees the edit of its own queries or keys alone. `site` z: nothing is
/// edited.
Attribution::Scores Attribution::scores_under(const trace::TokenIds& tokens, Site site, const Tensors* source,
                                              const Tensors& stream, const CancelToken& cancel) const {
    Scores out;
    std::vector<trace::Intervention> hooks;
    for (const auto& [point, t] : stream)
        hooks.push_back(
            {name_of(point, sweep_.config()), [&t](HookPoint, const at::Tensor& now) { return t.to(now.options()); }});
    for (std::int64_t l = 0; l < sweep_.config().n_layers; ++l) {
        SweepPlan::Rows found;
        if (goes_through_pattern(site))
            for (trace::Edit& edit : plan_.edits({.site = site, .layer = l}, source, found, 1))
                hooks.push_back({name_of(edit.point, sweep_.config()), [edit](HookPoint point, const at::Tensor& now) {
                                     return edit.fn(point, now.to(at::kCPU), 0).to(now.options());
                                 }});
        const HookPoint scores{hook_of(Site::scores, plan_.options), Layer(l)};
        hooks.push_back({name_of(scores, sweep_.config()), [&out](HookPoint point, const at::Tensor& now) {
                             out[point] = now.to(at::kCPU, at::kDouble).clone();
                             return now;
                         }});
    }
    trace::replay(*sweep_.model, tokens, hooks, cancel);
    return out;
}

/// Rows of queries, or columns of keys, that the edit changes get the scores of the pass in which all are edited; the others keep
/// theirs.
Attribution::Shift Attribution::through_pattern(HookPoint point, const at::Tensor& edited, std::size_t source) const {
    const bool queries = point.hook == hook_of(Site::q, plan_.options);
    const auto& values = at_.front().values;
    const at::Tensor changed = (edited != values.at(point)).any(2);  // [position, unit]
    const HookPoint pattern{hook_of(Site::pattern, plan_.options), point.layer},
        scores{hook_of(Site::scores, plan_.options), point.layer};
    const at::Tensor& weights = values.at(pattern);
    const at::Tensor &before = scores_.at(scores), &after = edited_.at(queries ? Site::q : Site::k)[source].at(scores);
    const std::int64_t readers = weights.size(0) / changed.size(1);
    at::Tensor shifts = at::zeros(weights.sizes(), at::kDouble);
    for (std::int64_t h = 0; h < weights.size(0); ++h) {
        const at::Tensor moved = changed.select(1, h / readers);
        if (!moved.any().item<bool>()) continue;
        const at::Tensor a = weights[h].to(at::kDouble);
        const at::Tensor where = queries ? moved.unsqueeze(1) : moved.unsqueeze(0);
        const at::Tensor shift = at::where(a.gt(0).logical_and(where), after[h] - before[h], at::zeros_like(a));
        // What a sink takes stays in the sum: without the edit it is 1.
        const at::Tensor grown = a * shift.exp();
        shifts[h].copy_(grown / (1 + (grown - a).sum(1, true)) - a);
    }
    return {pattern, shifts};
}

double Attribution::estimate(const SweepCell& cell) const {
    std::vector<double> sums(at_.size(), 0);
    SweepPlan::Rows found;
    const std::size_t count = std::max<std::size_t>(plan_.sources.size(), 1);
    for (std::size_t i = 0; i < count; ++i)
        for (const trace::Edit& edit :
             plan_.edits(cell, plan_.sources.empty() ? nullptr : &plan_.sources[i], found, plan_.options.window)) {
            const at::Tensor& value = at_.front().values.at(edit.point);
            const at::Tensor edited = edit.fn(edit.point, value, 0);
            const Shift shift = goes_through_pattern(cell.site) ? through_pattern(edit.point, edited, i)
                                                                : Shift{edit.point, (edited - value).to(at::kDouble)};
            for (std::size_t l = 0; l < at_.size(); ++l)
                sums[l] += (shift.change * at_[l].gradients.at(shift.point).to(at::kDouble)).sum().item<double>();
        }
    if (plan_.options.method != Method::graddrop) return sums.front() / static_cast<double>(count);
    double sizes = 0;
    for (const double sum : sums) sizes += std::abs(sum);
    return sizes / static_cast<double>(count) / static_cast<double>(sums.size() - 1);
}

}  // namespace headlight::intervention
