// SPDX-License-Identifier: GPL-3.0-or-later
#include "intervention/sweep/work.h"

#include "headlight/base/error.h"
#include "headlight/text/alignment.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace headlight::intervention {
namespace {

using model::Hook;
using model::HookPoint;

/// Over all positions of all texts, one row; or position by position.
Tensors means_over(const Sweep& sweep, const std::vector<SweepText>& texts, const CancelToken& cancel) {
    const bool by_position = sweep.options().per_position;
    Tensors sum;
    std::map<HookPoint, std::int64_t> count;
    for (const SweepText& text : texts) {
        const SweepText& like = sweep.pairs.front().clean;
        for (const auto ids : {&SweepText::ids, &SweepText::source})
            if (by_position && (text.*ids).size() != (like.*ids).size())
                throw Error(ErrorFacts{.problem = "A mean position by position needs texts of equal length",
                                       .item = "--over, text " + std::to_string(&text - texts.data() + 1),
                                       .expected = std::to_string((like.*ids).size()) + " tokens",
                                       .found = std::to_string((text.*ids).size()),
                                       .hint = "Leave out --per-position for a mean over all positions"});
        for (const auto& [point, t] : trace::tensors_of(*sweep.model, token_ids(text), sweep.points, cancel)) {
            const at::Tensor wide = t.to(at::kDouble), part = by_position ? wide : wide.sum(0, true);
            sum[point] = sum.contains(point) ? sum[point] + part : part;
            count[point] += by_position ? 1 : t.size(0);
        }
    }
    for (auto& [point, t] : sum) t = t / static_cast<double>(count[point]);
    return sum;
}

/// Mean over positions, as many rows as the text has; with several pairs of one length over their clean texts, position by
/// position.
Tensors mean_tensors(const Sweep& sweep, const SweepPair& pair, const CancelToken& cancel) {
    Tensors sum;
    if (sweep.pairs.size() < 2) {
        sum = trace::tensors_of(*sweep.model, token_ids(pair.clean), sweep.points, cancel);
        for (auto& [point, t] : sum) t = t.mean(0, true).expand_as(t).contiguous();
        return sum;
    }
    for (const SweepPair& each : sweep.pairs) {
        for (const auto ids : {&SweepText::ids, &SweepText::source})
            if ((each.clean.*ids).size() != (pair.clean.*ids).size())
                throw Error(ErrorFacts{.problem = "A mean position by position needs texts of equal length",
                                       .expected = std::to_string((pair.clean.*ids).size()) + " tokens",
                                       .found = std::to_string((each.clean.*ids).size())});
        for (auto& [point, t] : trace::tensors_of(*sweep.model, token_ids(each.clean), sweep.points, cancel))
            sum[point] = sum.contains(point) ? sum[point] + t : t;
    }
    for (auto& [point, t] : sum) t = t / static_cast<double>(sweep.pairs.size());
    return sum;
}

/// Other texts of the same length, without repetition: the clean ones of the other pairs, or those of a file.
std::vector<const SweepText*> donors_of(const Sweep& sweep, std::size_t pair) {
    const SweepText& own = sweep.pairs[pair].clean;
    const bool cross = sweep.options().attention == model::Stack::cross;
    std::vector<const SweepText*> donors;
    const auto add = [&](const SweepText& text) {
        if (text.ids.size() == own.ids.size() && (!cross || text.source.size() == own.source.size())) donors.push_back(&text);
    };
    if (const auto& over = sweep.options().over) {
        for (const SweepText& text : *over)
            if (text.ids != own.ids || text.source != own.source || (text.pixels && *text.pixels != *own.pixels)) add(text);
    } else {
        for (std::size_t i = 0; i < sweep.pairs.size(); ++i)
            if (i != pair) add(sweep.pairs[i].clean);
    }
    if (donors.empty())
        throw Error(ErrorFacts{.problem = "No other text is as long as this one, so none can be resampled from",
                               .item = "pair " + std::to_string(pair + 1),
                               .expected = std::to_string(own.ids.size()) + " tokens"});
    std::mt19937_64 random(sweep.options().bootstrap.seed * 1000003ULL + pair);
    for (std::size_t i = donors.size() - 1; i > 0; --i) std::swap(donors[i], donors[random() % (i + 1)]);
    donors.resize(std::min(donors.size(), static_cast<std::size_t>(std::max<std::int64_t>(sweep.options().donors, 1))));
    return donors;
}

bool is_identity(const std::vector<std::int64_t>& from, std::size_t count) {
    std::int64_t next = 0;
    return from.size() == count && std::ranges::all_of(from, [&](std::int64_t at) { return at == next++; });
}

bool has_shift(const std::vector<std::int64_t>& from) {
    for (std::size_t i = 0; i < from.size(); ++i)
        if (from[i] >= 0 && std::cmp_not_equal(from[i], i)) return true;
    return false;
}

/// The first token whose embedding has noise.
std::int64_t first_noise(const SweepText& text) {
    const auto tokens = std::ssize(text.ids);
    const auto at = std::ranges::find_if(text.noise, [](float x) { return x != 0; }) - text.noise.begin();
    return at == std::ssize(text.noise) ? tokens : at / (std::ssize(text.noise) / tokens);
}

}  // namespace

Tensors shared_means(const Sweep& sweep, const CancelToken& cancel) {
    const SweepOptions& o = sweep.options();
    if (o.ablation != Ablation::mean) return {};
    if (o.over) return means_over(sweep, *o.over, cancel);
    return sweep.pairs.size() > 1 ? mean_tensors(sweep, sweep.pairs.front(), cancel) : Tensors();
}

PairWork::PairWork(const Sweep& sweep, std::size_t index, const Tensors* means, const CancelToken& cancel)
    : base_metric(sweep.config(), sweep.pairs[index], base_of(sweep.pairs[index], sweep.options()), sweep.options().metric),
      plan{sweep.config(), sweep.options()} {
    const SweepOptions& o = sweep.options();
    const SweepPair& pair = sweep.pairs[index];
    const SweepText& text = base_of(pair, o);
    const auto run_of = [&](const SweepText& of, const MetricReader& metric) {
        return trace::Variants(sweep.model, token_ids(of),
                               {.first = metric.first(), .last = metric.last(), .columns = metric.columns(), .memory = o.memory},
                               cancel);
    };
    variants.emplace(run_of(text, base_metric));
    plan.tokens = std::ssize(text.ids);
    plan.receivers = sweep.receivers;
    // The mean of all rows stands in each of them.
    const bool of_all = reads_mean(sweep.config());
    plan.first_asked = of_all ? 0 : base_metric.first();
    plan.last_asked = of_all ? plan.tokens : base_metric.last();
    if (o.metric == Metric::kl) {
        MetricReader clean(sweep.config(), pair, pair.clean, o.metric);
        base_metric.set_reference(patches(o) ? run_of(pair.clean, clean).logits() : variants->logits());
    }
    base = base_metric(variants->logits());
    plan.frozen = o.effect == Effect::direct;
    if (o.effect != Effect::total) {
        const bool with_inputs = o.window > 1 && std::ranges::any_of(sites_of(o.grid), is_within_head);
        const auto is_input = [&](Hook hook) {  // of a cross attention's, keys and values are the encoder's: no edit reaches them
            return plan.of_cross() ? hook == Hook::cross_q : hook == Hook::q || hook == Hook::k || hook == Hook::v;
        };
        std::vector<HookPoint> points;
        for (const HookPoint point : model::hooks_of(sweep.config()))
            if (point.hook == Hook::z || point.hook == Hook::cross_z || (with_inputs && is_input(point.hook)))
                points.push_back(point);
        plan.own = trace::tensors_of(*sweep.model, token_ids(text), points, cancel);
    }
    if (patches(o)) {
        const SweepText& from = other_of(pair, o);
        MetricReader metric(sweep.config(), pair, from, o.metric);
        if (o.metric == Metric::kl) metric.share_reference(base_metric);
        other = metric(run_of(from, metric).logits());
        plan.sources = {trace::tensors_of(*sweep.model, token_ids(from), sweep.points, cancel)};
        plan.from = partners_in(text, from);
        plan.other_length = !is_identity(plan.from, from.ids.size());
        if (plan.of_cross()) {
            plan.source_from = text::align_positions(text.source, from.source);
            plan.other_length = plan.other_length || !is_identity(plan.source_from, from.source.size());
        }
        plan.shifted = has_shift(plan.from) || has_shift(plan.source_from);
        if (sweep.config().causal && text.source == from.source)
            plan.same = std::min(std::ranges::mismatch(text.ids, from.ids).in1 - text.ids.begin(),
                                 std::min(first_noise(text), first_noise(from)));
    } else {
        plan.from.resize(text.ids.size());
        std::iota(plan.from.begin(), plan.from.end(), 0);
        plan.source_from.resize(plan.of_cross() ? text.source.size() : 0);
        std::iota(plan.source_from.begin(), plan.source_from.end(), 0);
        if (o.ablation == Ablation::mean) plan.sources = {means ? *means : mean_tensors(sweep, pair, cancel)};
        if (o.ablation == Ablation::mean && o.over && !o.per_position)
            for (auto& [point, t] : plan.sources.front()) {
                std::vector<std::int64_t> shape = t.sizes().vec();
                const bool of_source = point.hook == Hook::cross_k || point.hook == Hook::cross_v;
                shape[0] = std::ssize(of_source ? text.source : text.ids);
                t = t.expand(shape);
            }
        if (o.ablation == Ablation::resample)
            for (const SweepText* donor : donors_of(sweep, index))
                plan.sources.push_back(trace::tensors_of(*sweep.model, token_ids(*donor), sweep.points, cancel));
    }
    for (std::int64_t p = 0; p < sweep.result.axes.positions; ++p)
        plan.position_rows.push_back(sweep.by_name() ? text.places.at(sweep.result.position_names[static_cast<std::size_t>(p)])
                                                     : std::vector<std::int64_t>{p});
    for (std::vector<std::int64_t>& rows : plan.position_rows) std::ranges::sort(rows);
}

}  // namespace headlight::intervention
