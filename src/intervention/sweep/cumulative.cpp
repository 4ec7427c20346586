// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/intervention/sweep/cumulative.h"

#include "headlight/analyze/columns.h"
#include "headlight/base/error.h"
#include "headlight/corpus/accumulate/examples.h"
#include "headlight/corpus/statistics/least_texts.h"
#include "headlight/corpus/statistics/quantile.h"
#include "intervention/sweep/statistics.h"
#include "intervention/sweep/work.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight::intervention {
namespace {

using Order = std::vector<std::size_t>;  ///< cells of the sweep

void check_cumulative(const SweepOptions& o) {
    const auto refuse = [](const char* problem, const std::string& found, const char* expected) {
        throw Error(ErrorFacts{.problem = problem, .item = "--cumulative", .expected = expected, .found = found});
    };
    if (!has_head(o.grid) || has_position(o.grid) || o.grid == Grid::head_every)
        refuse("Heads are added one after another at one site", std::string(enum_word(o.grid)), "z, q, k, v or pattern");
    if (!o.to.empty()) refuse("Several heads at once have no path", "--to", "a sweep without --to");
    if (o.effect != Effect::total)
        refuse("Several heads at once have a total effect", std::string(enum_word(o.effect)), "--effect total");
    if (o.method != Method::exact) refuse("Several heads at once are run", std::string(enum_word(o.method)), "--method exact");
    if (o.window != 1) refuse("Several heads at once have no window", std::to_string(o.window), "--window 1");
    if (!o.noise.empty()) refuse("Several heads at once are patched from a text", "--noise", "--corrupt, or --ablate");
}

std::string name_of_unit(const SweepCell& cell) { return "L" + std::to_string(cell.layer) + "H" + std::to_string(cell.head); }

/// The cells that words name, in their order.
Order order_of(const std::vector<std::string>& words, const std::vector<SweepCell>& cells) {
    Order order;
    for (const std::string& word : words) {
        const auto at = std::ranges::find(cells, word, name_of_unit);
        if (at == cells.end())
            throw Error(ErrorFacts{.problem = "The sweep has no such head",
                                   .item = "--order",
                                   .expected = "heads such as " + name_of_unit(cells.front()),
                                   .found = word});
        const auto cell = static_cast<std::size_t>(at - cells.begin());
        if (std::ranges::find(order, cell) != order.end())
            throw Error(ErrorFacts{.problem = "A head is named twice", .item = "--order", .found = word});
        order.push_back(cell);
    }
    return order;
}

/// Towards the other run; of an ablation by size, since it has no other run.
Order by_effect(const SweepResult& singles) {
    Order order(singles.cells.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const double gap = singles.gap();
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) {
        const double effect = singles.results[i].effect;
        if (!std::isfinite(effect)) return -HUGE_VAL;
        return std::isfinite(gap) ? std::copysign(1.0, gap) * effect : std::abs(effect);
    });
    return order;
}

Order random_order(std::uint64_t seed, std::int64_t draw, std::size_t count) {
    Order order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return corpus::draw(seed, draw, static_cast<std::int64_t>(i)); });
    return order;
}

/// Effects of one pair: [order][step - 1]; NaN: no head of the step has an aligned position.
std::vector<std::vector<double>> effects_of_orders(const PairWork& work, const std::vector<SweepCell>& cells,
                                                   const std::vector<Order>& orders, std::size_t steps,
                                                   const CancelToken& cancel) {
    std::vector<std::vector<double>> effects(orders.size(), std::vector<double>(steps, kNaN));
    std::vector<trace::Variant> variants;
    struct Part {
        std::size_t order, step;
        double share;
    };
    std::vector<Part> part_of;  // [variant]
    const std::size_t donors = std::max<std::size_t>(work.plan.sources.size(), 1);
    for (std::size_t o = 0; o < orders.size(); ++o)
        for (std::size_t donor = 0; donor < donors; ++donor) {
            std::vector<trace::Edit> edits;
            SweepPlan::Rows found;
            for (std::size_t step = 0; step < steps; ++step) {
                const Tensors* source = work.plan.sources.empty() ? nullptr : &work.plan.sources[donor];
                for (trace::Edit& edit : work.plan.edits(cells[orders[o][step]], source, found, 1))
                    edits.push_back(std::move(edit));
                double& effect = effects[o][step];
                if (edits.empty()) {
                    effect = found.aligned && !found.lost ? 0 : kNaN;
                    continue;
                }
                if (std::isnan(effect)) effect = 0;
                variants.push_back({.edits = edits});
                part_of.push_back({o, step, 1 / static_cast<double>(donors)});
            }
        }
    work.variants->run(
        variants,
        [&](std::int64_t v, const at::Tensor& logits) {
            const Part& part = part_of[static_cast<std::size_t>(v)];
            effects[part.order][part.step] += part.share * (work.base_metric(logits) - work.base);
        },
        cancel);
    return effects;
}

double mean_of(const std::vector<double>& values) {
    double sum = 0;
    std::int64_t n = 0;
    for (const double x : values)
        if (std::isfinite(x)) sum += x, ++n;
    return n > 0 ? sum / static_cast<double>(n) : kNaN;
}

}  // namespace

CumulativeResult cumulative_heads(const ModelPtr& model, const std::vector<SweepPair>& pairs, const SweepOptions& options,
                                  const CumulativeRequest& asked, const CancelToken& cancel, const Progress& progress) {
    check_cumulative(options);
    const Sweep sweep = prepare(model, pairs, options);
    const std::vector<SweepCell>& cells = sweep.result.cells;
    CumulativeResult out{.options = sweep.options(), .asked = asked, .clean{}, .corrupt{}, .steps{}};
    out.units = std::ssize(cells);
    SweepResult singles;
    std::vector<Order> orders;
    if (asked.order.empty()) {
        singles = run_sweep(model, pairs, options, cancel, progress);
        orders.push_back(by_effect(singles));
        out.notes.emplace_back("the order is that of each head's own effect on these texts");
    } else {
        orders.push_back(order_of(asked.order, cells));
    }
    const auto steps = std::min<std::size_t>(static_cast<std::size_t>(asked.steps), orders.front().size());
    if (steps == 0) throw Error(ErrorFacts{.problem = "The sweep has no head to add", .item = "--cumulative"});
    for (std::int64_t d = 0; d < asked.controls; ++d) orders.push_back(random_order(asked.seed, d, cells.size()));
    const Tensors means = shared_means(sweep, cancel);
    std::vector<std::vector<std::vector<double>>> effects;  // [pair][order][step]
    std::vector<double> base, other;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
        if (progress) progress({"Adding heads", "pair", static_cast<std::int64_t>(p), std::ssize(pairs)});
        const PairWork work(sweep, p, means.empty() ? nullptr : &means, cancel);
        base.push_back(work.base);
        other.push_back(work.other);
        effects.push_back(effects_of_orders(work, cells, orders, steps, cancel));
    }
    const bool patched = patches(options), denoise = patched && options.direction == Direction::denoise;
    out.clean = denoise ? other : base;
    if (patched) out.corrupt = denoise ? base : other;
    out.base = mean_of(base);
    const double gap = patched ? mean_of(other) - out.base : kNaN;
    const std::vector<std::int64_t> groups = groups_of(pairs);
    const std::int64_t group_count = groups.empty() ? 0 : std::ranges::max(groups) + 1;
    const corpus::Bootstrap bootstrap(group_count, options.bootstrap);
    const auto at = [&](std::size_t order, std::size_t step) {  // [pair]
        std::vector<double> values;
        for (const auto& of : effects) values.push_back(of[order][step]);
        return values;
    };
    out.steps.push_back({.added = {.layer = -1}, .value = out.base, .effect = {0, kNaN, kNaN}, .pairs = std::ssize(pairs)});
    out.steps.back().control = out.steps.back().control_low = out.steps.back().control_high = 0;
    if (patched) out.steps.back().normalized = 0;
    for (std::size_t step = 0; step < steps; ++step) {
        CumulativeStep& of = out.steps.emplace_back();
        of.added = cells[orders.front()[step]];
        if (!singles.results.empty()) of.single = singles.results[orders.front()[step]].effect;
        std::vector<corpus::TextTerm> terms(static_cast<std::size_t>(group_count));
        const std::vector<double> own = at(0, step);
        for (std::size_t p = 0; p < own.size(); ++p)
            if (std::isfinite(own[p])) {
                corpus::TextTerm& term = terms[static_cast<std::size_t>(groups[p])];
                term.sum += own[p], term.weight += 1, ++of.pairs;
            }
        of.effect = bootstrap.mean(terms);
        of.value = out.base + of.effect.mean;
        if (patched && std::abs(gap) >= options.least_gap) of.normalized = of.effect.mean / gap;
        std::vector<double> drawn;
        for (std::size_t d = 1; d < orders.size(); ++d)
            if (const double mean = mean_of(at(d, step)); std::isfinite(mean)) drawn.push_back(mean);
        std::ranges::sort(drawn);
        of.control = mean_of(drawn);
        of.control_low = corpus::quantile(drawn, 0.025), of.control_high = corpus::quantile(drawn, 0.975);
    }
    out.notes.push_back("controls: " + std::to_string(asked.controls) + " orders of " + std::to_string(out.units) +
                        " heads drawn at random, seed " + std::to_string(asked.seed));
    if (group_count < corpus::kLeastTexts)
        out.notes.push_back("no intervals: fewer than " + std::to_string(corpus::kLeastTexts) + " pairs or groups");
    const auto same = [&](const auto member) {
        return std::ranges::all_of(pairs, [&](const SweepPair& pair) { return pair.*member == pairs.front().*member; });
    };
    if (same(&SweepPair::answer_words)) out.answer_words = pairs.front().answer_words;
    if (same(&SweepPair::wrong_words)) out.wrong_words = pairs.front().wrong_words;
    return out;
}

analyze::Table table_of(const CumulativeResult& result) {
    using Step = CumulativeStep;
    const bool patched = !result.corrupt.empty();
    return analyze::Columns<Step>{
        {"heads", [](const Step&, std::int64_t i) { return i; }, "edited at once"},
        {"layer", [](const Step& of) { return analyze::index_cell(of.added.layer); }, "of the head that this row adds"},
        {"head", [](const Step& of) { return analyze::index_cell(of.added.layer < 0 ? -1 : of.added.head); }},
        {"single", &Step::single, "effect of this head alone, mean over pairs", result.asked.order.empty()},
        {"value", &Step::value, "the metric, mean over pairs"},
        {"effect", [](const Step& of) { return of.effect.mean; }, "minus that of the unedited run"},
        {"low", [](const Step& of) { return of.effect.low; }, "95 % by a bootstrap over pairs (groups of pairs)"},
        {"high", [](const Step& of) { return of.effect.high; }},
        {"normalized", &Step::normalized, "effect over the gap between the two runs", patched},
        {"control", &Step::control, "effect of as many heads drawn at random, mean over draws"},
        {"control_low", &Step::control_low, "the middle 95 % of the draws"},
        {"control_high", &Step::control_high},
        {"pairs", &Step::pairs}}
        .table(result.steps);
}

}  // namespace headlight::intervention
